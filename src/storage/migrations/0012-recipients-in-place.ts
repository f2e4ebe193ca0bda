import type { GradualUpdate } from '../gradual-updates';

/** Events about a recipient change its row in place, without touching an index. */
export const UP = `
-- The index of those who wait was bounded by their state, and a row whose change an index could see, be it in
-- the index's condition only, is written anew in all of them. Most recipients never wait: for them this column is
-- null before and after, so that whatever the feed tells of them is written where they are.
-- A generated column would be written into every row there is, and keep all others out meanwhile; where there are any,
-- a trigger keeps the column, and rows from before are marked in steps.
do $do$ begin
  if not exists (select from recipients) then
    alter table recipients add column waits boolean generated always as (case when state = 'waiting' then true end) stored
  ; else
    alter table recipients add column waits boolean
  ; create function mark_waiting() returns trigger language plpgsql as $$ begin new.waits := case when new.state = 'waiting' then true end; return new; end $$
  ; create trigger recipients_marked before insert or update on recipients for each row
      when (new.waits is distinct from case when new.state = 'waiting' then true end) execute function mark_waiting()
  ; end if
; end $do$;
alter index recipients_waiting rename to recipients_waiting_by_state;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index recipients_waiting on recipients (run_id, channel, shard, retry_at) where waits;
drop index recipients_waiting_by_state;
`;

export const UPDATES: GradualUpdate[] = [
  {
    name: 'recipients.waits',
    table: 'recipients',
    column: 'waits',
    set: 'waits = true',
    where: "state = 'waiting' and waits is null",
  },
];
