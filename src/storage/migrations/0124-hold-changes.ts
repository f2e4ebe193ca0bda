/**
 * How often holds were changed. A process looks at them several times a second, and one that finds this count unchanged does
 * not read them again (messaging/outbox/queue/holds.ts): with 50,000 canceled campaigns that reading cost a third of a core.
 * A trigger counts, so that the changes of processes of the version before count too.
 */
export const UP = `
create table hold_changes (changes bigint not null);
insert into hold_changes values (0);

create function count_hold_changes() returns trigger language plpgsql as $$ begin
  update hold_changes set changes = changes + 1 where exists (select 1 from changed)
  ; return null
  ; end $$;
create trigger holds_written after insert on holds referencing new table as changed
  for each statement execute function count_hold_changes();
create trigger holds_deleted after delete on holds referencing old table as changed
  for each statement execute function count_hold_changes();

-- When the hold of a campaign that is over was removed (campaigns/actions/old-holds.ts).
alter table runs add column hold_ended_at timestamptz;
`;

/** Built while the table is written to (online-indexes.ts). */
export const INDEXES = `
create index runs_held_after_end on runs (finished_at) where phase in ('canceled', 'failed')
  and (hold_ended_at is null or hold_ended_at < finished_at);
`;
