/** How many of a run's calls are live, counted where calls are written. */
export const UP = `
-- True from the moment a call is written ahead until its end is told or decided, then null: a place among those that
-- the campaign allows at once. That a recipient has ended does not tell of a call whether it has.
alter table calls add column live boolean;
update calls c set live = true from recipients r
  where c.ended_at is null and r.run_id = c.run_id and r.channel = 'voice' and r.seq = c.seq
    and r.state = 'sending' and r.attempt = c.attempt;

-- Whoever opens a call of a run holds this row meanwhile, so that no two take the same place; and when the next of
-- those that found none is to ask again.
create table call_places (
  run_id text primary key,
  ask_at timestamptz not null default now()
);
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index calls_live on calls (run_id, placed_at) where live;
`;
