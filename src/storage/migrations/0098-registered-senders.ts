/** Senders that belong to one workspace, with the key that signs a domain's mail. */
export const UP = `
-- Read as a whole by every process when \`carrier_settings.revision\` has changed. \`name\` is how senders are compared.
create table registered_senders (
  id text primary key,
  workspace_id text not null,
  channel text not null,
  sender text not null,
  name text not null,
  dkim_selector text,
  -- Sealed, and the key that opens it.
  dkim_key text,
  key_id text,
  created_at timestamptz not null default now(),
  unique (channel, name)
);
`;
