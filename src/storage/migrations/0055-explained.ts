/** Facts for the explanation of a recipient or a skipped contact that no other column has. */
export const UP = `
-- When \`retry-failed\` put the recipient back, the latest times. Null for nearly all.
alter table recipients add column put_back timestamptz[];

-- The address that was judged, and what it was judged by: the entry of the suppression list, or the names of the params
-- that were missing. Both may be changed by the time that a person asks. Null in rows of earlier releases.
alter table skipped_contacts add column address text, add column evidence jsonb;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
-- The list of a run, by reason; it holds what the index of those who were suppressed did.
create index skipped_contacts_listed on skipped_contacts (run_id, channel, reason, contact_id);
drop index skipped_contacts_suppressed;
`;
