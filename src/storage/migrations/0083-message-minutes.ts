/** What became of a workspace's messages lately, for the page that people open first. */
export const UP = `
-- How many messages came to be sent, delivered or failed in a minute. Written by the statement that writes their events,
-- which holds the row of event_heads, so that no two of them wait for each other here. Kept for some hours.
create table message_minutes (
  workspace_id text not null,
  minute timestamptz not null,
  channel text not null,
  sent int not null default 0,
  delivered int not null default 0,
  failed int not null default 0,
  primary key (workspace_id, minute, channel)
) with (fillfactor = 50);
create index message_minutes_by_age on message_minutes (minute);
`;
