/** Audiences frozen in pieces: how far each has come, and an index to find addresses that are taken. */
export const UP = `
-- One row per run and channel. It moves in the transaction of each piece, so that a crash costs one piece.
create table audience_freezes (
  run_id text not null,
  channel text not null,
  -- The boundary: contacts that came to the lists later are not in the audience.
  begun_at timestamptz not null default now(),
  -- Memberships in the lists at that moment, by which shards are cut.
  contacts int not null,
  -- Whether the contacts that other campaigns have reached are marked already.
  exclusions_marked boolean not null,
  -- The last contact that was judged, and how many were.
  after_id text not null default '',
  walked int not null default 0,
  -- The next recipient's number; the shard that is being filled, and its first number.
  next_seq int not null default 0,
  shard smallint not null default 0,
  shard_from int not null default 0,
  -- Contacts left out so far, by reason.
  skipped jsonb not null default '{}',
  -- The oldest policy that a piece was frozen by.
  policy_version int,
  -- Raised by each attempt that takes the freeze over; a piece of an earlier attempt is not committed.
  fence int not null default 1,
  finished_at timestamptz,
  primary key (run_id, channel)
) with (fillfactor = 50);
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
-- Which address of a run and channel is taken. A hash keeps the index at a quarter of the size of the texts; readers
-- compare the texts as well.
create index recipients_by_mailbox on recipients (
  hashtextextended(run_id || '.' || channel || '.' || lower(address collate "C"), 0));
`;
