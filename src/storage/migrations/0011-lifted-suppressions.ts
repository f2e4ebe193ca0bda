/** What was blocked once and is no longer. */
export const UP = `
-- Blocks that were lifted, and by what: a timeline tells why somebody was not contacted last month also
-- when the block has gone since. The latest of each address are kept.
create table lifted_suppressions (
  id text primary key,
  workspace_id text not null,
  -- As compared (suppressions.address), so that a contact's are found by one look.
  address text collate "C" not null,
  channel text not null,
  sender text collate "C" not null,
  reason text not null,
  source text not null,
  blocked_at timestamptz not null,
  lifted_at timestamptz not null default now(),
  -- api, keyword, page.
  lifted_by text not null
);
create index lifted_suppressions_by_address on lifted_suppressions (workspace_id, address, lifted_at);
create index lifted_suppressions_by_age on lifted_suppressions (lifted_at);
`;
