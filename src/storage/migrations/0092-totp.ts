/** One-time codes (RFC 6238) as the second factor of a log-in. */
export const UP = `
-- The secret is sealed. It counts once it was confirmed with a code; \`last_step\` is the step of the newest code that was
-- used, so that none is taken twice.
create table totp_secrets (
  user_id text primary key,
  workspace_id text not null,
  secret text not null,
  key_id text not null,
  created_at timestamptz not null,
  confirmed_at timestamptz,
  last_step bigint not null default 0
);

-- Hashed like other secrets of 80 bits and more that we make; a code that was used is deleted.
create table totp_recovery_codes (
  user_id text not null,
  code_hash text not null,
  primary key (user_id, code_hash)
);
`;
