/** Campaigns released in stages: the present stage of a run, and why a run has paused itself. */
export const UP = `
-- One row per run that is released in stages.
create table run_releases (
  run_id text primary key,
  workspace_id text not null,
  -- How many stages there are, the last one included, and which has begun last; 0 before the first.
  stages smallint not null,
  stage smallint not null default 0,
  -- Set when the order is drawn, after the audience is frozen.
  contacts int,
  -- The operator has let go the waits after the stages up to this one.
  released_to smallint not null default 0,
  -- The operator has resumed the run at a closed gate of this stage.
  passed_to smallint not null default 0,
  -- Set while a gate is closed.
  closed_at timestamptz
) with (fillfactor = 50);

-- Times are absolute, so that a wait goes on through pauses, restarts and downtime.
create table run_stages (
  run_id text not null,
  stage smallint not null,
  contacts int not null,
  -- The stage has the contacts whose place in the order is beyond the former stage's and not beyond this.
  upto uuid not null,
  begun_at timestamptz,
  -- So many numbers, shard by shard, have been looked through for its recipients, to give them their hour; and when all
  -- had been.
  opened_to int not null default 0,
  opened_at timestamptz,
  sent_at timestamptz,
  -- When the wait is over; null while the next stage waits for the operator.
  next_at timestamptz,
  -- What the gates came to after it.
  judged jsonb not null default '[]',
  primary key (run_id, stage)
) with (fillfactor = 50);

-- Why a run is paused or canceled by itself, as the API shows it.
alter table runs add column own_reason jsonb;
`;
