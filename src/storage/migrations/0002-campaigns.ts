/** Campaigns under control: what a run can be asked, and what it keeps beyond its first form. */
export const UP = `
-- 'fail' is a run's own wish: what happened concerns everybody, and a person must look.
alter table runs drop constraint runs_control_check;
alter table runs add constraint runs_control_check check (control in ('run', 'pause', 'cancel', 'fail'));

-- Numbers of attempts that ended in doubt and were sent anew: only of these is "sent" still news.
alter table recipients add column doubts smallint[];
-- What had ended when the run stopped itself: after a resume its threshold counts from here.
alter table runs add column abort_baseline jsonb;

-- How often the run's workflow was launched: a run that is resumed after its end goes on in a new one.
alter table runs add column launches int not null default 1;

-- Voice: the attempt with which the recipient's latest call workflow begins. Null is the first, at 1; above
-- attempt it says that such a workflow is still to be started.
alter table recipients add column call_from smallint;

-- The pace of a run that has one, shared by all that send for it: when its next permit is free.
create table run_paces (
  run_id text primary key,
  -- Permits a second; null since the limit was lifted.
  rate double precision,
  next_at timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- How many recipients a shard took on in each of its last seconds; a slot is used again and again.
create table shard_seconds (
  run_id text not null,
  channel text not null,
  shard smallint not null,
  slot smallint not null,
  second bigint not null,
  taken int not null,
  primary key (run_id, channel, shard, slot)
) with (fillfactor = 50);

-- Where a recipient may be, for hours by the recipient's clocks: a time zone, or the beginning of a phone
-- number that stands for its zones. Null when the campaign did not ask.
alter table recipients add column place text;
`;
