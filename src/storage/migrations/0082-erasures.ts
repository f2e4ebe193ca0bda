/** A person is erased: what is to be done, and the columns that lose their values by it. */
export const UP = `
-- Worked off in steps by src/app/erasures.ts. The addresses are needed until all is done, and then gone too.
create table erasures (
  id text primary key,
  workspace_id text not null,
  contact_id text not null,
  -- As the person's records had them; and in lower case what else names the person, to be found in texts.
  addresses text[],
  words text[],
  created_at timestamptz not null default now(),
  done_at timestamptz
);
create index erasures_open on erasures (created_at) where done_at is null;
create index erasures_by_contact on erasures (workspace_id, contact_id);

-- Null once the person was erased; states and counts stay.
alter table recipients alter column address drop not null;
alter table messages alter column to_address drop not null;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
-- Whether a workspace has entries whose address is a hash; few have any.
create index suppressions_erased on suppressions (workspace_id) where source = 'erased';

-- Deliveries of the events of a message.
create index webhook_deliveries_by_event on webhook_deliveries (webhook_id, sequence) where sequence is not null;
`;
