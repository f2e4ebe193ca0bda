/** Senders that an account's carrier refuses, such as a number that is not registered there. */
export const UP = `
-- Closed while it was not reopened since. The row stays then, because receipts of what was handed over before may come
-- late and must not close it again. Read as a whole by every process when \`carrier_settings.revision\` has changed.
create table account_senders (
  account_id text not null,
  channel text not null,
  -- As routes compare senders.
  sender text not null,
  code text not null,
  message text not null,
  closed_at timestamptz not null default clock_timestamp(),
  reopened_at timestamptz,
  primary key (account_id, channel, sender)
);
`;
