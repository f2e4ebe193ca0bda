import type { GradualUpdate } from '../gradual-updates';

/** Lists of messages find their rows without reading all of a workspace. */
export const UP = `
-- How a message ended, if not by reaching its recipient. Only such ends are indexed: an index that knew \`state\` would
-- have an entry more for each receipt, because PostgreSQL writes a row anew in all indexes when one can see the change.
-- A generated column would be written into every row there is, and keep all others out meanwhile; where there are any,
-- a trigger keeps the column, and rows from before are filled in steps.
do $do$ begin
  if not exists (select from messages) then
    alter table messages add column ended text generated always as (
      case when state not in ('scheduled', 'accepted', 'sent', 'delivered') then state end) stored
  ; else
    alter table messages add column ended text
  ; create function note_message_end() returns trigger language plpgsql as $$ begin new.ended := case when new.state not in ('scheduled', 'accepted', 'sent', 'delivered') then new.state end; return new; end $$
  ; create trigger messages_ends_noted before insert or update on messages for each row
      when (new.ended is distinct from case when new.state not in ('scheduled', 'accepted', 'sent', 'delivered') then new.state end)
      execute function note_message_end()
  ; end if
; end $do$;
`;

/** What it built is no longer built: 0121 has what took its place. */
export const INDEXES = `
drop index messages_by_subscriber;
`;

/** Until it is done, lists of messages by a bad end lack those from before. */
export const UPDATES: GradualUpdate[] = [
  {
    name: 'messages.ended',
    table: 'messages',
    column: 'ended',
    set: 'ended = state',
    where: "ended is null and state not in ('scheduled', 'accepted', 'sent', 'delivered')",
  },
];
