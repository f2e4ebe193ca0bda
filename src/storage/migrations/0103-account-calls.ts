/** How many calls of an account there may be at once. */
export const UP = `
alter table accounts add column max_concurrent_calls integer;
-- Counted before each call of an account that has a bound.
create index vendor_calls_live on vendor_calls (account_id) where ended_at is null;
-- How many were made in the last second.
create index vendor_calls_by_account on vendor_calls (account_id, created_at);
`;
