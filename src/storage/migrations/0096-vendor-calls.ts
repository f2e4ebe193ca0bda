/** Calls that vendors make by documents of ours, as long as they last. */
export const UP = `
-- Written before the vendor is asked to call, because it fetches the first document as soon as the callee answers.
create table vendor_calls (
  message_id text primary key,
  -- In the address of the documents, which only the vendor knows.
  token text not null unique,
  kind text not null,
  account_id text not null,
  provider text not null,
  -- The rendered document and how the call is made, as they were handed over.
  document text not null,
  options jsonb not null,
  -- What is known of the call, in order (domain/voice/call-script.ts).
  facts jsonb not null default '[]',
  created_at timestamptz not null default now(),
  ended_at timestamptz
);
create index vendor_calls_by_age on vendor_calls (created_at);
create index vendor_calls_by_end on vendor_calls (ended_at) where ended_at is not null;
`;
