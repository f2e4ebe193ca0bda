/** Lifted suppressions, the policy version that a recipient waits by, and occurrences in recipients' local time. */
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

-- The version of the workspace's policy that the run's waiting recipients wait by. Behind the newest one, they are
-- to be looked at again; null in a run that was frozen before this was kept.
alter table runs add column policy_version int;
-- What everybody's clocks show when they are due, YYYY-MM-DDTHH:MM; null when they are all due as the run begins.
alter table runs add column local_time text;
-- The version of the policy by which a send was put off; null in one that never was.
alter table durable_sends add column policy_version int;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index durable_sends_put_off on durable_sends (workspace_id, id)
  where finished_at is null and policy_version is not null;
`;
