/**
 * Two sets of tables in one database, without foreign keys between them: the messaging service (src/messaging),
 * and the campaigns that use it over HTTP (src/campaigns). Every row carries its workspace, or belongs to a row
 * that does. The file is long because it is the whole schema, read from top to bottom.
 */
export const UP = `
-- Messaging service: who may call
create table workspaces (
  id text primary key,
  name text not null,
  created_at timestamptz not null default now()
);

create table users (
  id text primary key,
  workspace_id text not null,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member')),
  password_hash text not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);
create unique index users_by_email on users (lower(email));
create index users_by_workspace on users (workspace_id, id);

-- Tokens, cookies and keys are stored as SHA-256 of what the caller holds.
create table sessions (
  token_hash text primary key,
  user_id text not null,
  workspace_id text not null,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now()
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_use on sessions (last_seen_at);

create table api_clients (
  id text primary key,
  workspace_id text not null,
  name text not null,
  created_at timestamptz not null default now(),
  disabled_at timestamptz
);
create index api_clients_by_workspace on api_clients (workspace_id, id);

-- The newest has no end; those it replaced work on for the time that the rotation gave them.
create table api_client_secrets (
  client_id text not null,
  secret_hash text not null,
  created_at timestamptz not null default now(),
  valid_till timestamptz,
  primary key (client_id, secret_hash)
);

create table access_tokens (
  token_hash text primary key,
  client_id text not null,
  workspace_id text not null,
  created_at timestamptz not null default now(),
  valid_till timestamptz not null,
  revoked_at timestamptz
);
create index access_tokens_by_client on access_tokens (client_id, valid_till);
create index access_tokens_by_end on access_tokens (valid_till);

create table api_keys (
  id text primary key,
  workspace_id text not null,
  name text not null,
  key_hash text not null unique,
  prefix text not null,
  created_at timestamptz not null default now(),
  revoked_at timestamptz
);
create index api_keys_by_workspace on api_keys (workspace_id, id);

-- Failed log-ins and client credentials, per user, client and address, under a hash of which.
create table failed_attempts (
  subject_hash text primary key,
  count int not null,
  since timestamptz not null
);
create index failed_attempts_by_age on failed_attempts (since);

-- Calls with an Idempotency-Key (the protocol is told at the head of messaging/idempotency.ts). Neither the
-- key nor, in clear, the answer is kept.
create table idempotency_keys (
  workspace_id text not null,
  key_hash text not null,
  payload_hash text not null,
  -- With the key itself, what the ids and secrets that the call makes are derived from.
  seed text not null,
  runs int not null default 1,
  lease_until timestamptz not null,
  answer text,
  created_at timestamptz not null,
  primary key (workspace_id, key_hash)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Messaging service: templates
create table templates (
  id text primary key,
  workspace_id text not null,
  channel text not null,
  name text not null,
  current_version int not null,
  -- Name, and of the current version subject, body and the texts of a flow, in lower case: what a search
  -- looks in. Lowered by the program, because lower() knows other alphabets on one engine and not on the
  -- other; here and not with the versions, so that a search reads one table and no old text.
  search_text text not null default '',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  archived_at timestamptz
);
create unique index templates_by_name on templates (workspace_id, channel, name) where archived_at is null;
-- One for each column a list is sorted by.
create index templates_by_age on templates (workspace_id, channel, created_at desc, id desc)
  where archived_at is null;
create index templates_by_change on templates (workspace_id, channel, updated_at desc, id desc)
  where archived_at is null;
-- In another collation than the primary key, which would otherwise be walked past all other templates.
create index templates_by_id on templates (workspace_id, channel, (id collate "C"))
  where archived_at is null;
create index templates_by_lower_name
  on templates (workspace_id, channel, (lower(name) collate "C"), (name collate "C"), id)
  where archived_at is null;

-- How many live ones there are: a list says it on every page, and counting rows takes as long as there
-- are rows. Changed in the transaction that changes the templates.
create table template_counts (
  workspace_id text not null,
  channel text not null,
  live int not null,
  primary key (workspace_id, channel)
);

-- A version never changes once written: campaigns and messages pin it.
create table template_versions (
  template_id text not null,
  version int not null,
  subject text,
  body text not null,
  -- An email's plain-text part, derived from its body when the version was written.
  text_body text,
  email_provider_id text not null default '',
  -- The visual editor's state, kept as it came: an email layout or a voice flow.
  design jsonb,
  created_at timestamptz not null default now(),
  primary key (template_id, version)
);

-- Messaging service: messages and their delivery
create table messages (
  id text primary key,
  workspace_id text not null,
  uid text not null,
  channel text not null,
  to_address text not null,
  from_address text not null,
  template_id text,
  template_version int,
  subject text,
  body text,
  params jsonb not null,
  campaign text,
  class text not null,
  reply_to text,
  segments int,
  encoding text,
  -- Hash of what the caller sent: the same uid with another payload is a conflict.
  payload_hash text not null,
  state text not null,
  code text,
  provider text,
  provider_id text,
  attempt int not null default 0,
  -- When the caller wants it sent; due_at begins there and moves on with every retry. It is null once
  -- nobody has to hand the message over any more: then no index knows what changes afterwards, and
  -- receipts are recorded without touching one.
  send_at timestamptz,
  due_at timestamptz,
  expires_at timestamptz,
  -- The dispatcher that takes this message (dispatch_lanes).
  lane text not null,
  -- Sequence number of the event that says the message was accepted; later events are in history.
  accepted_seq bigint not null,
  history jsonb not null default '[]',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 70);
create unique index messages_by_uid on messages (workspace_id, uid);
create index messages_due on messages (lane, due_at, accepted_seq) where due_at is not null;
create index messages_by_campaign on messages (workspace_id, campaign, id) where campaign is not null;
create index messages_by_provider_id on messages (provider, provider_id) where provider_id is not null;

-- A lane is one dispatcher's share of the outbox. A process opens its own and adopts those whose owner
-- stopped renewing; the fence rises with every change of owner.
create table dispatch_lanes (
  id text primary key,
  owner text not null,
  fence int not null,
  lease_until timestamptz not null,
  -- Rises with every message of the lane that was canceled, so that the dispatcher, which may hold the
  -- message in memory, notices before it opens its next batch.
  cancels int not null default 0
);

-- One row written before anything leaves, removed with the results: what is still here after its lane
-- changed hands may or may not have reached the provider.
create table handover_batches (
  id text primary key,
  lane text not null,
  fence int not null,
  provider text not null,
  message_ids text[] not null,
  opened_at timestamptz not null default now()
);
create index handover_batches_by_lane on handover_batches (lane);

-- No message with a held tag is handed to a provider.
create table holds (
  workspace_id text not null,
  campaign text not null,
  created_at timestamptz not null default now(),
  primary key (workspace_id, campaign)
);

-- Whom not to write to or call (api.md 9). The key begins with what a check knows, and holds all that it
-- asks, so that it is answered from the index alone.
create table suppressions (
  id text not null,
  workspace_id text not null,
  -- As compared: an email address in lower case, or a phone number in E.164.
  address text collate "C" not null,
  -- email, sms, voice, or all.
  channel text not null,
  -- One sender in lower case, or empty for every sender of the workspace.
  sender text collate "C" not null default '',
  reason text not null,
  -- Where the block came from: api, csv, keyword, complaint, bounce, unsubscribe, voice.
  source text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (workspace_id, address, channel, sender)
);
create index suppressions_by_age on suppressions (workspace_id, id desc);

-- Exceptions from the limits that the configuration sets for every sender. Null means no limit.
create table sender_limits (
  workspace_id text not null,
  channel text not null,
  -- In lower case, without a display name.
  sender text not null,
  rate double precision,
  burst int,
  concurrent_calls int,
  updated_at timestamptz not null default now(),
  primary key (workspace_id, channel, sender)
);

-- What a limited sender may still hand over: a token bucket, filled up by the database's clock whenever
-- it is taken from. The whole answer is computed from this one row under its lock.
create table sender_buckets (
  workspace_id text not null,
  channel text not null,
  sender text not null,
  tokens double precision not null,
  filled_at timestamptz not null,
  -- How many items the last taker was given; here because a statement cannot return what it replaced.
  granted int not null,
  -- The provider asked for silence until then.
  paused_until timestamptz,
  -- Calls under way: message id, and in seconds of the epoch when their place is free whatever happens.
  calls jsonb not null default '{}',
  primary key (workspace_id, channel, sender)
) with (fillfactor = 50);

-- Receipts that arrived before the hand-over they belong to was recorded; taken up when it is, dropped
-- when old.
create table orphan_receipts (
  id text primary key,
  message_id text,
  provider text,
  provider_id text,
  receipt jsonb not null,
  received_at timestamptz not null default now()
);
create index orphan_receipts_by_message on orphan_receipts (message_id);
create index orphan_receipts_by_provider_id on orphan_receipts (provider, provider_id);

-- One ordered log per workspace. Events born together are one row; event i of a row has number
-- first_seq + i. Taking numbers locks the head until commit, so that rows become visible in order and a
-- reader that keeps its cursor misses none.
create table event_heads (
  workspace_id text primary key,
  next_seq bigint not null,
  -- Numbers below were deleted, because they were older than records are kept.
  kept_from bigint not null default 0
);

create table event_log (
  workspace_id text not null,
  first_seq bigint not null,
  count int not null,
  at timestamptz not null default now(),
  -- Only ever read whole: json keeps the text as it came, where jsonb would take it apart.
  events json not null,
  primary key (workspace_id, first_seq)
);

-- Campaigns: contacts
create table contacts (
  id text primary key,
  workspace_id text not null,
  -- What makes a contact the same one: 'x:' external id, else 'e:' lower-case email, else 'p:' phone.
  identity text not null,
  external_id text,
  name text,
  email text,
  phone text,
  timezone text,
  locale text,
  params jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 85);
create unique index contacts_by_identity on contacts (workspace_id, identity);

create table contact_lists (
  id text primary key,
  workspace_id text not null,
  name text not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index contact_lists_by_workspace on contact_lists (workspace_id, id desc);

create table contact_list_members (
  list_id text not null,
  contact_id text not null,
  added_at timestamptz not null default now(),
  primary key (list_id, contact_id)
);
create index contact_list_members_by_contact on contact_list_members (contact_id);

-- Campaigns: what the user made, and its executions
create table campaigns (
  id text primary key,
  workspace_id text not null,
  name text not null,
  channels text[] not null,
  -- Per channel: sender, templateId, version (messaging-service.md, Create campaign).
  settings jsonb not null,
  contact_list_ids text[] not null,
  -- Everything api.md 7 adds on create: params, class, schedule, delivery, voice, strategy, exclude, abort.
  options jsonb not null default '{}',
  stage text not null check (stage in ('draft', 'scheduled', 'started')),
  current_run text,
  created_by text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index campaigns_by_workspace on campaigns (workspace_id, created_at desc, id desc);

create table runs (
  id text primary key,
  workspace_id text not null,
  campaign_id text not null,
  number int not null,
  phase text not null check (phase in ('planning', 'running', 'finishing', 'completed', 'canceled', 'failed')),
  -- What the owner asked for; read by every page between chunks.
  control text not null default 'run' check (control in ('run', 'pause', 'cancel')),
  reason text,
  workflow_id text not null,
  -- Per channel, contacts that did not become recipients, by reason.
  skipped jsonb not null default '{}',
  started_at timestamptz not null default now(),
  finished_at timestamptz
);
create unique index runs_by_campaign on runs (campaign_id, number);

-- Campaigns: the ledger (its protocol is told at the head of src/campaigns/runs/ledger.ts)
create table recipients (
  run_id text not null,
  channel text not null,
  seq int not null,
  shard smallint not null,
  contact_id text not null,
  address text not null,
  -- Values for the template's placeholders, frozen with the audience.
  params jsonb not null,
  due_at timestamptz not null,
  state text not null default 'pending',
  outcome text,
  code text,
  -- Number of the attempt in the message uid; rises when a recipient is sent to anew.
  attempt smallint not null default 0,
  attempts smallint not null default 0,
  retry_at timestamptz,
  updated_at timestamptz not null default now(),
  primary key (run_id, channel, seq)
) with (fillfactor = 70);
create index recipients_waiting on recipients (run_id, channel, shard, retry_at) where state = 'waiting';
create index recipients_by_contact on recipients (contact_id);

-- A shard is a fixed slice of a run's recipients on a channel: seq in [from_seq, to_seq).
create table shards (
  run_id text not null,
  channel text not null,
  shard smallint not null,
  from_seq int not null,
  to_seq int not null,
  -- Everything below was taken on by some page.
  next_seq int not null,
  next_page int not null default 0,
  primary key (run_id, channel, shard)
);

-- How many rows of a shard are stored in each state other than pending.
create table shard_counts (
  run_id text not null,
  channel text not null,
  shard smallint not null,
  state text not null,
  count int not null,
  primary key (run_id, channel, shard, state)
) with (fillfactor = 50);

-- Pages that are open. A closed page is deleted: what it did is in the recipients and the shard.
create table pages (
  run_id text not null,
  channel text not null,
  shard smallint not null,
  page int not null,
  lane smallint not null,
  fence int not null,
  -- A dense range [from_seq, to_seq), or for retries an explicit list.
  from_seq int not null,
  to_seq int not null,
  seqs int[],
  -- Positions in the page, from 0: everything before resolved is recorded, everything from resolved up
  -- to offered may have reached the service, nothing after it has.
  resolved int not null default 0,
  offered int not null default 0,
  opened_at timestamptz not null default now(),
  primary key (run_id, channel, shard, page)
);

-- One dialled attempt at a voice recipient.
create table calls (
  run_id text not null,
  seq int not null,
  attempt smallint not null,
  placed_at timestamptz not null default now(),
  ended_at timestamptz,
  outcome text,
  data jsonb not null default '{}',
  primary key (run_id, seq, attempt)
);

-- Where reading of a service's event feed has got to.
create table event_cursors (
  workspace_id text primary key,
  cursor text not null,
  updated_at timestamptz not null default now()
);
`;
