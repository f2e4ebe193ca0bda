/**
 * A person is found by an email address however it was written. Most addresses are in lower case and are found by the
 * indexes on the address itself; these know only the others, so that a message to any other address costs nothing.
 */
export const UP = '';

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index messages_by_mixed_address on messages (lower(to_address collate "C"))
  where to_address <> lower(to_address collate "C");

create index durable_sends_by_mixed_address on durable_sends (workspace_id, lower((content ->> 'to') collate "C"))
  where (content ->> 'to') <> lower((content ->> 'to') collate "C");
`;
