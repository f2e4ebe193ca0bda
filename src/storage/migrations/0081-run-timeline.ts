/** When recipients of a run entered each state. */
export const UP = `
-- How many of a run's recipients entered a state in the seconds from this one on; how many seconds those are grows with
-- the run's age (campaigns/ledger/timeline.ts), so that a run has some thousand rows however long it takes. Each batch
-- that moves recipients adds to a few rows. The slot keeps calls, which move one by one, from waiting for one row.
create table run_timeline (
  run_id text not null,
  channel text not null,
  state text not null,
  second int8 not null,
  slot smallint not null,
  count int not null,
  primary key (run_id, channel, state, second, slot)
) with (fillfactor = 50);
`;
