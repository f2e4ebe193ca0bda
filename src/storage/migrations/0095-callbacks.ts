/** Carriers sign callbacks with a secret of the account, and change to a new one later than we do. */
export const UP = `
-- Sealed like \`secrets\`; they verify callbacks until then, and nothing else.
alter table accounts
  add column previous_secrets text,
  add column previous_key_id text,
  add column previous_until timestamptz;
`;
