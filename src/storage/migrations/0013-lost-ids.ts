/** Receipts with an id that we never stored, because the process that had asked for it was killed. */
export const UP = `
-- Whom such a receipt is about, as the carrier names them, and the reference that it brought back. Only of carriers
-- that tell; such a receipt is looked at now and then, until it is dropped with all that nobody claims.
alter table orphan_receipts add column to_address text;
alter table orphan_receipts add column from_address text;
alter table orphan_receipts add column reference int;
alter table orphan_receipts add column look_at timestamptz;
-- It fitted several messages at least once, and was counted as such.
alter table orphan_receipts add column ambiguous boolean not null default false;
create index orphan_receipts_to_look_at on orphan_receipts (provider, look_at) where look_at is not null;
create index orphan_receipts_by_address on orphan_receipts (provider, to_address) where to_address is not null;
`;
