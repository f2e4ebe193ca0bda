/**
 * A run that ended long ago loses its recipients; the row keeps when, and what their outcomes were. `recipients_left` is true
 * while rows of it are still to be deleted, null otherwise, so that its index stays small.
 */
export const UP = `
alter table runs add column recipients_deleted_at timestamptz;
alter table runs add column recipients_left boolean;
alter table runs add column outcomes jsonb;
create index runs_ended on runs (finished_at) where finished_at is not null and recipients_deleted_at is null;
create index runs_emptied on runs (recipients_deleted_at) where recipients_left;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index durable_sends_ended on durable_sends (finished_at) where finished_at is not null;
`;
