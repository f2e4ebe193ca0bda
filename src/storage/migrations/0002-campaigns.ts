/** Control of campaigns: what a run can be asked to do, and further columns of a run. */
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

-- Durable single sends (api.md 8): the row is the truth, the workflow its clock. What each column is for is
-- told at the head of src/campaigns/sends/durable-sends.ts.
create table durable_sends (
  id text primary key,
  workspace_id text not null,
  -- The caller's. The service is given others, one for each attempt.
  uid text not null,
  channel text not null,
  -- The message with its policies, as it was accepted; its addresses stand nowhere else.
  content jsonb not null,
  state text not null default 'pending',
  outcome text,
  code text,
  control text not null default 'run' check (control in ('run', 'cancel')),
  -- The service has been asked to cancel, and could not.
  cancel_late boolean not null default false,
  -- Of the message at the service.
  attempt smallint not null default 1,
  -- This attempt may have reached the service. Raised by everyone who takes it on, so that one who was
  -- given up records nothing.
  offered boolean not null default false,
  fence int not null default 0,
  accepted_at timestamptz,
  -- How this attempt ended, as the event feed tells; the next look makes of it what follows.
  ended text,
  ended_code text,
  answered_by text,
  -- Tries that counted; failures for the moment among them; and waits in a row that did not count.
  attempts smallint not null default 0,
  failures smallint not null default 0,
  pauses smallint not null default 0,
  -- What the calls so far came to.
  outcomes text[] not null default '{}',
  -- When it is to be looked at next.
  due_at timestamptz not null,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  sent_at timestamptz,
  finished_at timestamptz,
  updated_at timestamptz not null default now()
);
create unique index durable_sends_by_uid on durable_sends (workspace_id, uid);
create index durable_sends_live on durable_sends (due_at) where finished_at is null;
create index durable_sends_followed on durable_sends (workspace_id) where finished_at is null and offered;

-- Where a recipient may be, for hours by the recipient's clocks: a time zone, or the beginning of a phone
-- number that stands for its zones. Null when the campaign did not ask.
alter table recipients add column place text;

-- The place of the recipient's channel in the order of a campaign that goes from channel to channel; null
-- when all are sent to at once.
alter table recipients add column turn smallint;

-- Recurring campaigns: 'held' while their schedule is paused, 'canceled' when it was for good.
alter table campaigns drop constraint campaigns_stage_check;
alter table campaigns add constraint campaigns_stage_check
  check (stage in ('draft', 'scheduled', 'held', 'started', 'canceled'));
-- The occurrence that a run is; null for one that somebody started.
alter table runs add column scheduled_for timestamptz;
create unique index runs_by_occurrence on runs (campaign_id, scheduled_for) where scheduled_for is not null;

-- The schedules of recurring campaigns: which occurrence is next, and whether Temporal's schedule agrees.
create table campaign_schedules (
  campaign_id text primary key,
  workspace_id text not null,
  -- The first occurrence that nobody has taken; null when there is none, or is to be none.
  next_at timestamptz,
  -- Raised with every change that Temporal's schedule has to follow, and the one it has followed last.
  version int not null default 1,
  kept int not null default 0,
  looked_at timestamptz not null default '-infinity'
);
create index campaign_schedules_due on campaign_schedules (next_at) where next_at is not null;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
-- It finds a contact's other channels, and is empty without campaigns that go from channel to channel.
create index recipients_by_turn on recipients (run_id, contact_id) where turn is not null;
`;
