/** Lists of messages find their rows without reading all of a workspace. */
export const UP = `
-- How a message ended, if not by reaching its recipient. Only such ends are indexed: an index that knew \`state\` would
-- have an entry more for each receipt, because PostgreSQL writes a row anew in all indexes when one can see the change.
alter table messages add column ended text generated always as (
  case when state not in ('scheduled', 'accepted', 'sent', 'delivered') then state end
) stored;
create index messages_ended on messages (workspace_id, ended, id) where ended is not null;

create index messages_by_age on messages (workspace_id, id);

-- Of email and calls too: what became of the messages to one person is asked of all channels.
drop index messages_by_subscriber;
create index messages_by_address on messages (to_address, id);
`;
