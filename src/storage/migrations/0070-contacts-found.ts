/** Contacts are listed by workspace, and found by the beginning of an external id, an email address or a phone number. */
export const UP = '';

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index contacts_by_workspace on contacts (workspace_id, id);
-- The identity begins with its kind: "x:" an external id, "e:" an email address, "p:" a phone number. In the "C" order,
-- so that a prefix is a range whatever the order of the database.
create index contacts_by_identity_text on contacts (workspace_id, lower(identity collate "C"));
-- As contacts_by_phone of 0056, in the "C" order for the same reason.
create index contacts_by_phone_text on contacts (workspace_id, (phone collate "C"))
  where phone is not null and left(identity, 2) <> 'p:';
drop index contacts_by_phone;
`;
