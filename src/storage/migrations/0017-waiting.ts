/**
 * Waiting runs and quiet feeds cost no statement of their own: a change that concerns them is recorded when it
 * happens.
 */
export const UP = `
-- One process at a time watches for the whole installation: the one that renewed this row last.
create table watches (
  name text primary key,
  owner text not null,
  held_until timestamptz not null
) with (fillfactor = 50);

-- Runs that the watcher looks at, and when. The transaction that changes what a run may wait for writes a row, and the
-- watcher deletes it after the run's workflow was woken, so that a process killed in between leaves it to the next one.
create table run_looks (
  id bigserial primary key,
  run_id text not null,
  at timestamptz not null default now(),
  -- How often in a row the run was woken for the same reason; the next look comes later each time.
  tries smallint not null default 0
);
create index run_looks_due on run_looks (at, id);
create index run_looks_by_run on run_looks (run_id, at);

-- Triggers write the rows, because counts move in many places, and a run whose change one of them forgot would wait
-- for ever. One row a statement and run; rows are only added, so that transactions never wait for each other here.
create function note_count_moves() returns trigger language plpgsql as $$
begin
  insert into run_looks (run_id) select distinct run_id from changed
  ; return null; end
$$;
create trigger counts_were_made after insert on shard_counts referencing new table as changed
  for each statement execute function note_count_moves();
create trigger counts_were_moved after update on shard_counts referencing new table as changed
  for each statement execute function note_count_moves();

create function note_run_control() returns trigger language plpgsql as $$
begin
  insert into run_looks (run_id) values (new.id)
  ; return null; end
$$;
create trigger run_control_changed after update of control on runs for each row
  when (old.control is distinct from new.control and new.phase in ('planning', 'running', 'finishing'))
  execute function note_run_control();

-- When something was sent last whose outcome the feed will tell: the watcher follows such feeds closely.
alter table event_cursors add column asked_at timestamptz;
create index event_cursors_asked on event_cursors (asked_at) where asked_at is not null;

-- Runs that go on, among all that there ever were.
create index runs_live on runs (workspace_id, id) where phase in ('planning', 'running', 'finishing');
`;
