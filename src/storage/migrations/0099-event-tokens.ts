/** Which body came first with a token of Mailgun, whose signature covers the token and not the event. */
export const UP = `
create table event_tokens (
  account text not null,
  -- SHA-256 of each.
  token bytea not null,
  body bytea not null,
  at timestamptz not null default now(),
  primary key (account, token)
);
create index event_tokens_by_age on event_tokens (at);
`;
