/**
 * Indexes of messages and of carriers' ids keep less. Lists find their rows by the time of their acceptance: all that one
 * statement accepted have the same, so that PostgreSQL keeps the value once for them, with six bytes a row. By campaign
 * and by age that is 16 bytes a message, where the id at the end took 218. Addresses and carriers' ids are found by their
 * hashes (decision 56).
 */
export const UP = `
do $do$ begin if not exists (select from messages) then
  drop index if exists messages_by_campaign, carrier_ids_in_order
  ; end if
; end $do$;

create or replace function note_carrier_id() returns trigger language plpgsql as $$ begin
  if old.provider_id is not null then
    delete from carrier_ids where hashtextextended(provider_id, 0) = hashtextextended(old.provider_id, 0)
      and provider = old.provider and provider_id = old.provider_id and message_id = old.id
  ; end if
  ; insert into carrier_ids (provider, provider_id, message_id) values (new.provider, new.provider_id, new.id)
  ; return null
  ; end $$;

create or replace function forget_carrier_ids() returns trigger language plpgsql as $$ begin
  delete from carrier_ids where ctid = any(array(
    select c.ctid from gone g cross join lateral (
      select k.ctid from carrier_ids k
      where hashtextextended(k.provider_id, 0) = hashtextextended(g.provider_id, 0)
        and k.provider = g.provider and k.provider_id = g.provider_id and k.message_id = g.id offset 0
    ) c))
  ; return null
  ; end $$;
`;

/** Built while the tables are written to (online-indexes.ts). */
export const INDEXES = `
create index messages_latest on messages (workspace_id, created_at);

create index messages_latest_of_campaign on messages (workspace_id, campaign, created_at) where campaign is not null;

create index messages_latest_ended on messages (workspace_id, ended, created_at) where ended is not null;

-- Of email and calls too: what became of the messages to one person is asked of all channels.
create index messages_latest_to on messages (hashtextextended(to_address, 0), created_at);

create index carrier_ids_by_hash on carrier_ids (hashtextextended(provider_id, 0));
`;

/** Processes of the version before read these (online-indexes.ts). */
export const RETIRED = {
  indexes: [
    'messages_by_campaign',
    'messages_by_age',
    'messages_ended',
    'messages_by_address',
    'carrier_ids_in_order',
  ],
};
