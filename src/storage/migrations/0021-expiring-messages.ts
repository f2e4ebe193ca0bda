/** Finds expired messages while no carrier accepts any. */
export const UP = '';

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
-- Only of messages that wait and have an end: others cost nothing here.
create index messages_expiring on messages (lane, expires_at) where due_at is not null and expires_at is not null;
`;
