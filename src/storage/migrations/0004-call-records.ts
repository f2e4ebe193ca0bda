/** The progress and the outcome of each call. */
export const UP = `
-- When the service handed the call to its provider: only from then on can it ring.
alter table calls add column dialled_at timestamptz;
alter table calls add column answered_at timestamptz;
-- The last word of it, by this database's clock: one that is silent for too long has an unknown end.
alter table calls add column heard_at timestamptz;
-- The carrier's word for how it ended, and whose fault that was; a carrier's own is no attempt.
alter table calls add column code text;
alter table calls add column fault text;

-- Of a durable send's latest call: the outcome that was told, and how often a carrier could not place it.
alter table durable_sends add column told_outcome text;
alter table durable_sends add column faults smallint not null default 0;
`;
