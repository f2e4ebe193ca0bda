/**
 * A person is found by an email address however it was written. Most addresses are in lower case and are found by the
 * indexes on the address itself; these know only the others, so that a message to any other address costs nothing.
 */
export const UP = '';

/** Built while the tables are written to (online-indexes.ts). That of messages is 0128's, which took its place. */
export const INDEXES = `
create index durable_sends_by_mixed_address on durable_sends (workspace_id, lower((content ->> 'to') collate "C"))
  where (content ->> 'to') <> lower((content ->> 'to') collate "C");
`;
