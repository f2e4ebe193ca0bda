/** Opting out: inbound messages of subscribers, soft bounces, and unsubscribe links. */
export const UP = `
-- Every SMS from a subscriber, so that one told again changes nothing and is answered once. Not its text: what
-- it asked for is enough.
create table inbound_messages (
  id text primary key,
  provider text not null,
  -- SHA-256 of the provider's id, both numbers and the text. Not of the id alone: a carrier that counts from
  -- the beginning again must not make a STOP look like something that was told before.
  fingerprint text not null,
  action text not null,
  received_at timestamptz not null default now(),
  -- The answer it is owed, written with what it changed; the message's id is chosen here, so that whoever
  -- sends the answer sends the same one.
  reply text,
  reply_id text,
  reply_workspace text,
  reply_from text,
  reply_to text,
  reply_language text,
  replied_at timestamptz
);
create unique index inbound_messages_by_fingerprint on inbound_messages (provider, fingerprint);
create index inbound_messages_by_age on inbound_messages (received_at);
create index inbound_messages_owed on inbound_messages (received_at)
  where reply_id is not null and replied_at is null;
-- Which messages are such answers, and how many somebody has had.
create unique index inbound_messages_by_reply on inbound_messages (reply_id) where reply_id is not null;
create index inbound_messages_by_person on inbound_messages (reply_to, received_at) where reply_id is not null;

-- Which workspaces use a sender, kept when the messages are gone: somebody may write STOP years later.
create table sms_senders (
  -- As compared (suppressions.sender).
  sender text collate "C" not null,
  workspace_id text not null,
  primary key (sender, workspace_id)
);
insert into sms_senders (sender, workspace_id)
  select distinct lower(from_address collate "C"), workspace_id from messages where channel = 'sms';

-- Days on which mail to an address failed for the moment; several of them block it.
create table soft_bounces (
  workspace_id text not null,
  address text collate "C" not null,
  day date not null,
  primary key (workspace_id, address, day)
);
create index soft_bounces_by_day on soft_bounces (day);

-- Made by the first process that needs one, and kept as long as the database: what was sent with its help
-- must be understood years later.
create table installation_secrets (
  name text primary key,
  secret text not null,
  created_at timestamptz not null default now()
);
`;
