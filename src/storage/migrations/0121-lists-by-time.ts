/**
 * Lists of messages find their rows by the time of their acceptance. All that one statement accepted have the same, so that
 * PostgreSQL keeps the value once for them, with six bytes a row: by campaign and by age 16 bytes a message, where
 * the id at the end took 218 (decision 56).
 */
export const UP = `
do $do$ begin if not exists (select from messages) then
  drop index if exists messages_by_campaign
  ; end if
; end $do$;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index messages_latest on messages (workspace_id, created_at);

create index messages_latest_of_campaign on messages (workspace_id, campaign, created_at) where campaign is not null;

create index messages_latest_ended on messages (workspace_id, ended, created_at) where ended is not null;

-- Of email and calls too: what became of the messages to one person is asked of all channels.
create index messages_latest_to on messages (to_address, created_at);
`;

/** Processes of the version before list by these (online-indexes.ts). */
export const RETIRED = {
  indexes: ['messages_by_campaign', 'messages_by_age', 'messages_ended', 'messages_by_address'],
};
