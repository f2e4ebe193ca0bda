import type { GradualUpdate } from '../gradual-updates';

const ALL_COPIED =
  'create or replace view known_carrier_ids as select provider, provider_id, message_id from carrier_ids';

/**
 * What is due, and what carriers call messages, stand beside `messages` and no longer in its indexes. PostgreSQL writes a row
 * anew in each of its table's indexes when one of them can see a change: a hand-over, which changed `due_at` and
 * `provider_id`, wrote into each of them. Now it is an update in place (decision 55).
 */
export const UP = `
-- Messages of one flow that were accepted together and fall due together, in the order of their acceptance. A message waits
-- while its own due_at is its group's; a hand-over changes the message alone. Groups in which nothing waits are deleted by
-- their partition's owner (messaging/model/due-groups.ts). The triggers also keep what processes of the version before write.
create table due_groups (
  lane text not null,
  flow int not null,
  due_at timestamptz not null,
  first_seq bigint not null,
  -- The first time at which one of them expires.
  expires_at timestamptz,
  message_ids text[] not null
);
create index due_groups_in_order on due_groups (lane, flow, due_at, first_seq);
create index due_groups_by_time on due_groups (lane, due_at);
create index due_groups_expiring on due_groups (lane, expires_at) where expires_at is not null;

-- A carrier may use an id twice.
create table carrier_ids (
  provider text not null,
  provider_id text not null,
  message_id text not null
);
create index carrier_ids_in_order on carrier_ids (provider, provider_id);

create function note_added_messages() returns trigger language plpgsql as $$ begin
  insert into due_groups (lane, flow, due_at, first_seq, expires_at, message_ids)
    select lane, flow, due_at, min(accepted_seq), min(expires_at), array_agg(id order by accepted_seq)
    from added where due_at is not null group by lane, flow, due_at
  ; insert into carrier_ids (provider, provider_id, message_id)
    select provider, provider_id, id from added where provider_id is not null
  ; return null
  ; end $$;
create trigger messages_added after insert on messages referencing new table as added
  for each statement execute function note_added_messages();

create function note_due_message() returns trigger language plpgsql as $$ begin
  insert into due_groups (lane, flow, due_at, first_seq, expires_at, message_ids)
    values (new.lane, new.flow, new.due_at, new.accepted_seq, new.expires_at, array[new.id])
  ; return null
  ; end $$;
create trigger messages_due_again after update on messages for each row
  when (new.due_at is not null and (new.due_at, new.lane, new.flow) is distinct from (old.due_at, old.lane, old.flow))
  execute function note_due_message();

create function note_carrier_id() returns trigger language plpgsql as $$ begin
  if old.provider_id is not null then
    delete from carrier_ids where provider = old.provider and provider_id = old.provider_id and message_id = old.id
  ; end if
  ; insert into carrier_ids (provider, provider_id, message_id) values (new.provider, new.provider_id, new.id)
  ; return null
  ; end $$;
create trigger messages_called after update on messages for each row
  when (new.provider_id is not null and (new.provider, new.provider_id) is distinct from (old.provider, old.provider_id))
  execute function note_carrier_id();

create function forget_carrier_ids() returns trigger language plpgsql as $$ begin
  delete from carrier_ids c using gone g
    where c.provider = g.provider and c.provider_id = g.provider_id and c.message_id = g.id
  ; return null
  ; end $$;
create trigger messages_deleted after delete on messages referencing old table as gone
  for each statement execute function forget_carrier_ids();

-- Until the ids from before are copied, they are read where they were too.
create view known_carrier_ids as
  select provider, provider_id, message_id from carrier_ids
  union all select provider, provider_id, id from messages where provider_id is not null;

-- The newest migration that a process's build knows; null in one of a version before this.
alter table processes add column newest_migration text;

do $do$ begin if not exists (select from messages) then
  ${ALL_COPIED}
  ; insert into gradual_updates (name) values ('messages.carrier_ids') on conflict do nothing
  ; drop index if exists messages_due, messages_due_without_flow, messages_expiring, messages_by_provider_id
  ; end if
; end $do$;
`;

/**
 * Puts what waits from before into groups, in a migration of its own, because the lock that the triggers need would keep
 * writers out meanwhile. What came since is in its group by the triggers.
 */
export const FILLED = `
insert into due_groups (lane, flow, due_at, first_seq, expires_at, message_ids)
  select m.lane, m.flow, m.due_at, min(m.accepted_seq), min(m.expires_at), array_agg(m.id order by m.accepted_seq)
  from messages m
  where m.due_at is not null and not exists (
    select from due_groups g where g.lane = m.lane and g.flow = m.flow and g.due_at = m.due_at and m.id = any(g.message_ids))
  group by m.lane, m.flow, m.due_at, m.accepted_seq / 500;
`;

/** Until it is done, ids from before are looked up in `messages`. */
export const UPDATES: GradualUpdate[] = [
  {
    name: 'messages.carrier_ids',
    table: 'messages',
    column: 'provider_id',
    copy: { into: 'carrier_ids (provider, provider_id, message_id)', columns: 'provider, provider_id, id' },
    where: `provider_id is not null and not exists (
      select from carrier_ids c where c.provider = messages.provider and c.provider_id = messages.provider_id
        and c.message_id = messages.id)`,
    afterwards: ALL_COPIED,
  },
];

/** Processes of the version before look for due messages and for carriers' ids here (online-indexes.ts). */
export const RETIRED = {
  indexes: ['messages_due', 'messages_due_without_flow', 'messages_expiring', 'messages_by_provider_id'],
  once: 'messages.carrier_ids',
};
