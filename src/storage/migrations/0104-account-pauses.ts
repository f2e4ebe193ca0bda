/** Which processes hand nothing over by an account, so that each shows it and one of them finds out when it is over. */
export const UP = `
-- At most one row for each account, channel and process, and none while all is well. Written by its process every two
-- seconds; a row whose lease is over belongs to a process that is dead, and says nothing.
create table account_pauses (
  account_id text not null,
  channel text not null,
  owner text not null,
  kind text not null,
  state text not null,
  reason text,
  since timestamptz not null,
  next_try_at timestamptz,
  -- An owner has checked the account at another process: it is to be tried at once.
  probe_asked_at timestamptz,
  lease_until timestamptz not null,
  primary key (account_id, channel, owner)
) with (fillfactor = 50);
`;
