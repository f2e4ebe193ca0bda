/** Events about a recipient change its row in place, without touching an index. */
export const UP = `
-- The index of those who wait was bounded by their state, and a row whose change an index could see, be it in
-- the index's condition only, is written anew in all of them. Most recipients never wait: for them this column is
-- null before and after, so that whatever the feed tells of them is written where they are.
alter table recipients add column waits boolean generated always as (case when state = 'waiting' then true end) stored;
drop index recipients_waiting;
create index recipients_waiting on recipients (run_id, channel, shard, retry_at) where waits;
`;
