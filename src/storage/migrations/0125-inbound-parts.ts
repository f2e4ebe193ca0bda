/**
 * Parts of long inbound SMS that were acknowledged to an SMS centre before the other parts came. The centre sends them to no
 * process again (messaging/inbound/inbound-parts.ts).
 */
export const UP = `
create table inbound_parts (
  provider text not null,
  from_address text not null,
  to_address text not null,
  -- Joins the parts, of which there are \`parts\`.
  reference integer not null,
  parts smallint not null,
  number smallint not null,
  id text not null,
  -- UTF-16, because half a character may be in one part and half in the next.
  octets bytea not null,
  created_at timestamptz not null default now(),
  primary key (provider, from_address, to_address, reference, parts, number)
);
`;
