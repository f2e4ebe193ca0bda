/** A workspace can be stopped: none of its messages goes to any provider until the stop ends. */
export const UP = `
-- One row for each workspace that is stopped, or whose stop has ended and is still to be told to what waits. It is read
-- with every group of messages and every chunk of a page, so a stop that is over leaves no row behind.
create table workspace_stops (
  workspace_id text primary key,
  since timestamptz not null default now(),
  stopped_by text,
  reason text not null,
  ended_at timestamptz
);
`;
