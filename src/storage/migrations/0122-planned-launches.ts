/**
 * When a planned run or send is to be woken, until a process has taken that over (watch/planned-launches.ts). Empty in rows
 * of earlier builds, whose workflows wait for their time by themselves.
 */
export const UP = `
alter table durable_sends add column launch_at timestamptz;
alter table runs add column launch_at timestamptz;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index durable_sends_to_launch on durable_sends (launch_at) where launch_at is not null;

create index runs_to_launch on runs (launch_at) where launch_at is not null;
`;
