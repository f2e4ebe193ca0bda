/** How many recipients of a run have each code, so that outcomes cost the same for a thousand and for a million. */
export const UP = `
-- Written by the statements that move recipients (campaigns/ledger/code-counts.ts). Recipients without a code are in no
-- row: they are the rest of shard_counts. The slot keeps shards from waiting for one row.
create table recipient_codes (
  run_id text not null,
  channel text not null,
  state text not null,
  code text not null,
  slot smallint not null,
  count int not null,
  primary key (run_id, channel, state, code, slot)
) with (fillfactor = 50);
-- Null in runs from before the counters, whose recipients are counted one by one.
alter table runs add column codes_counted boolean;
`;
