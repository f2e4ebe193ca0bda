/** Parts of long SMS, which an SMS centre reports one by one. */
export const UP = `
-- Kept until no receipt is to be expected any more (limits.ts, smsPartHours). Centres count their ids from the
-- beginning again some day; then the newer part takes the place of the older.
create table sms_parts (
  provider text not null,
  part_id text not null,
  message_id text not null,
  -- Of the message, some of whose parts may have no row, because their ids never came.
  parts smallint not null,
  -- What the part's receipt said; null while none has come.
  type text,
  code text,
  data jsonb,
  created_at timestamptz not null default now(),
  primary key (provider, part_id)
);
create index sms_parts_by_message on sms_parts (message_id);
create index sms_parts_by_age on sms_parts (created_at);
`;
