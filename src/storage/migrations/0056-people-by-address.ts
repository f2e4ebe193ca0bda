/** A person is found by an address, whatever identifies the contact. */
export const UP = '';

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
-- Most contacts are identified by an address, and found by their identity; these are those of the others.
create index contacts_by_email on contacts (workspace_id, lower(email collate "C"))
  where email is not null and left(identity, 2) <> 'e:';
-- As recipients_by_mailbox, for contacts that were left out by the address that they had then.
create index skipped_contacts_by_mailbox on skipped_contacts (
  hashtextextended(run_id || '.' || channel || '.' || lower(address collate "C"), 0)) where address is not null;
`;
