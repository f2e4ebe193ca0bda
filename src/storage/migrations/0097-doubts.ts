/** Messages whose answer was lost at a carrier that can be asked, and calls that were taken back. */
export const UP = `
-- In doubt and to be looked up; a row goes when the doubt is over, or after a day.
create table vendor_doubts (
  message_id text primary key,
  provider text not null,
  channel text not null,
  -- Between these times it was handed over.
  since timestamptz not null,
  until timestamptz not null,
  looks int not null default 0,
  look_at timestamptz not null
);
create index vendor_doubts_by_look on vendor_doubts (look_at);

-- Why the carrier was asked to take a ringing call back: \`cancel\` or \`hold\`.
alter table vendor_calls add column withdrawn text;
`;
