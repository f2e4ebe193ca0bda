/** The workspace's policy, and what must be remembered to apply it. */
export const UP = `
-- Every version that was ever in force: a decision of last month is explained by the policy of last month.
-- The highest is in force. Without one, nothing is held back.
create table policy_versions (
  workspace_id text not null,
  version int not null,
  policy jsonb not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, version)
);

-- Who was written to or called lately, for caps that are shared by all campaigns: one row for an address, so
-- that one row lock decides between two campaigns. Empty as long as no policy has a cap. The three arrays
-- belong together, one place for each message, which is known by its uid.
create table contact_uses (
  workspace_id text not null,
  address text not null,
  uids text[] not null,
  channels text[] not null,
  used_at timestamptz[] not null,
  last_at timestamptz not null,
  primary key (workspace_id, address)
) with (fillfactor = 70);
create index contact_uses_by_age on contact_uses (last_at);

-- Contacts that did not become recipients, and why; recipients are in their own table.
create table skipped_contacts (
  run_id text not null,
  channel text not null,
  contact_id text not null,
  reason text not null,
  primary key (contact_id, run_id, channel)
);
-- Whom an excluded campaign left out because they had opted out.
create index skipped_contacts_suppressed on skipped_contacts (run_id, channel) where reason = 'suppressed';

-- Which message told a number how to opt out, for each sender.
create table opt_out_notices (
  workspace_id text not null,
  sender text not null,
  address text not null,
  message_id text not null,
  primary key (workspace_id, address, sender)
);
-- What the policy adds at the end of a message's text.
alter table messages add column suffix text;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
-- What was sent to one contact by durable sends; its part in runs has an index already.
create index durable_sends_by_address on durable_sends (workspace_id, (content ->> 'to'));
`;
