import { type Kysely, type RawBuilder, sql } from 'kysely';
import { kindOf } from '../../domain/account';
import { LIMITS } from '../../domain/limits';
import type { Receipt } from '../../providers/provider';
import { newId } from '../../storage/new-id';
import { eventsWritten, type NewEvent } from '../events/event-rows';
import { eventsOf, historyEntry, historyText } from '../events/history';
import { addToMinute } from '../events/message-minutes';
import { carriersMessages } from '../model/carrier-ids';
import { isText } from '../model/hashed-text';
import type { StoredEvent } from '../model/stored-event';
import type { MessagingTables } from '../model/tables';
import type { ReceiptTarget } from './receipt-change';

/** A receipt and the provider it came from. */
export interface FromProvider {
  provider: string;
  receipt: Receipt;
}

/** A message's row as it is read for receipts. */
export type TargetRow = Omit<ReceiptTarget, 'history'> & { history: StoredEvent[] };

export const targetOf = (row: TargetRow): ReceiptTarget => ({ ...row, history: eventsOf(row) });

export interface Targets {
  byId: ReadonlyMap<string, ReceiptTarget>;
  /** By `foreignKey`. */
  byProviderId: ReadonlyMap<string, ReceiptTarget>;
}

export const foreignKey = ({ provider, receipt }: FromProvider): string =>
  keyOf(provider, receipt.providerId, receipt.about?.to ?? null);

const keyOf = (provider: string, providerId: string | undefined, named: string | null) =>
  `${provider} ${providerId} ${named ?? ''}`;

/** A message that a carrier's id may mean. */
export interface Meant {
  to: string | null;
  atMs: number;
}

/**
 * Of several messages to which a carrier gave one id, because its count has begun again: the one to the recipient whom the
 * receipt names, and of several the one that was handed over last. The receipts of the others have come, or never will.
 */
export function meantOf<T extends Meant>(messages: readonly T[], to: string | undefined): T | undefined {
  const toThem = messages.filter((one) => one.to !== null && one.to === to);
  const [last] = (toThem.length > 0 ? toThem : messages).toSorted((one, other) => other.atMs - one.atMs);
  return last;
}

/**
 * SQL: the receipt names another recipient than the message that has its id, and a message to them is on its way to the provider
 * or in doubt. The carrier may have given its id again, so that the receipt waits until that message's id is known. Without
 * such a message the centre writes the number in its own way.
 */
export const meansAnother = (
  provider: RawBuilder<unknown>,
  hasId: RawBuilder<unknown>,
  named: RawBuilder<unknown>,
): RawBuilder<boolean> =>
  sql`case when ${named} is null or ${hasId} is not distinct from ${named} then false else exists (
    select from messages w where w.channel = 'sms' and ${isText(sql`w.to_address`, named)} and case
      when w.state = 'accepted' then exists (
        select from handover_batches b where b.provider = ${provider} and w.id = any(b.message_ids)
      )
      else w.state = 'unknown' and w.provider = ${provider} and w.provider_id is null
        and w.updated_at > now() - ${LIMITS.orphanReceiptHours} * interval '1 hour'
    end
  ) end`;

/** When it was handed over; the carrier may have said so in a receipt. */
export const handedOverMs = (row: Pick<TargetRow, 'history' | 'provider' | 'attempt'>): number =>
  Date.parse(eventsOf(row).findLast(({ type }) => type === 'sent')?.at ?? '') || 0;

interface Asked {
  given: string;
  provider_id: string;
  named: string | null;
}

export async function findTargets(
  db: Kysely<MessagingTables>,
  receipts: readonly FromProvider[],
): Promise<Targets> {
  const ids = receipts.flatMap(({ receipt }) => (receipt.id === undefined ? [] : [receipt.id]));
  const foreign = receipts.filter(
    ({ receipt }) => receipt.id === undefined && receipt.providerId !== undefined,
  );
  const byId = new Map<string, ReceiptTarget>();
  if (ids.length > 0) {
    const { rows } = await sql<TargetRow>`
      select id, workspace_id, uid, channel, campaign, state, attempt, provider, history, to_address is null as erased
      from messages where id = any(${ids}::text[])
    `.execute(db);
    for (const row of rows) byId.set(row.id, targetOf(row));
  }
  const byProviderId = new Map<string, ReceiptTarget>();
  if (foreign.length > 0) {
    // A receipt for all accounts of a kind is looked up at each of them. An id that several of them have
    // matches none.
    const { rows } = await sql<TargetRow & Asked & { to_address: string | null; means_another: boolean }>`
      with given as (
        select r.provider, r.provider_id, r.named from unnest(
          ${foreign.map((one) => one.provider)}::text[],
          ${foreign.map((one) => one.receipt.providerId)}::text[],
          ${foreign.map((one) => one.receipt.about?.to ?? null)}::text[]
        ) as r(provider, provider_id, named)
      ), names as (
        select distinct provider as given, provider as name from given
        union all
        select g.provider, a.kind || ':' || a.id
        from (select distinct provider from given) g join accounts a on a.kind = g.provider
      )
      select distinct on (r.provider, r.provider_id, r.named, m.id)
        m.id, m.workspace_id, m.uid, m.channel, m.campaign, m.state, m.attempt, m.provider, m.history, m.to_address is null as erased,
        m.provider_id, r.provider as given, r.named, m.to_address,
        ${meansAnother(sql`m.provider`, sql`m.to_address`, sql`r.named`)} as means_another
      from given r
      join names n on n.given = r.provider
      cross join lateral ${carriersMessages(sql`n.name`, sql`r.provider_id`)} c
      join messages m on m.id = c.message_id and m.provider = n.name and m.provider_id = r.provider_id
    `.execute(db);
    const found = new Map<string, (Meant & { target: ReceiptTarget; meansAnother: boolean })[]>();
    for (const { provider_id, given, named, to_address: to, means_another, ...row } of rows) {
      const key = keyOf(given, provider_id, named);
      const one = { to, atMs: handedOverMs(row), target: targetOf(row), meansAnother: means_another };
      found.set(key, [...(found.get(key) ?? []), one]);
    }
    for (const one of foreign) {
      const { provider, receipt } = one;
      const all = found.get(foreignKey(one)) ?? [];
      const exact = all.filter(({ target }) => target.provider === provider);
      const only = all.length === 1 ? all[0] : meantOf(exact, receipt.about?.to);
      if (only && !only.meansAnother) byProviderId.set(foreignKey(one), only.target);
    }
  }
  return { byId, byProviderId };
}

export interface Change {
  target: ReceiptTarget;
  event: NewEvent;
  /** The provider's id, learned only now. */
  providerId?: string | undefined;
}

/**
 * Adds one event to each message, at most one per message, all of one workspace. A message that has changed
 * since it was read is skipped, also one whose person was erased since, because the event may name them. Returns the
 * ids of the messages that were written.
 */
export async function writeChanges(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  changes: readonly Change[],
): Promise<Set<string>> {
  const count = changes.length;
  const at = new Date().toISOString();
  const moved = changes.flatMap(({ target, event }) => (event.state === target.state ? [] : event));
  const { rows } = await sql<{ id: string }>`
    with given as (select ${JSON.stringify(changes.map((one) => one.event))}::json as events),
    head as (
      update event_heads set next_seq = next_seq + ${count}::int
      where workspace_id = ${workspaceId} returning next_seq - ${count}::int as first
    ), changed as (
      update messages m set
        code = case when m.state <> r.new_state then r.code else m.code end,
        state = r.new_state,
        provider_id = coalesce(m.provider_id, r.provider_id),
        updated_at = ${at}::timestamptz,
        history = m.history || ${historyEntry(sql`(head.first + r.position - 1)`, sql`r.entry`)}
      from head, unnest(
        ${changes.map((one) => one.target.id)}::text[],
        ${changes.map((one) => one.target.state)}::text[],
        ${changes.map((one) => one.target.history.length)}::int[],
        ${changes.map((one) => one.target.erased ?? false)}::boolean[],
        ${changes.map((one) => one.event.state)}::text[],
        ${changes.map((one) => one.event.code ?? null)}::text[],
        ${changes.map((one) => one.providerId ?? null)}::text[],
        ${changes.map((one) => historyText(one.event, at))}::text[]
      ) with ordinality as r(id, old_state, old_length, erased, new_state, code, provider_id, entry, position)
      where m.id = r.id and m.state = r.old_state and jsonb_array_length(m.history) = r.old_length
        and (m.to_address is null) = r.erased
      returning m.id
    ), logged as (
      insert into event_log (workspace_id, first_seq, count, at, events)
      select ${workspaceId}, head.first, ${count}::int, ${at}::timestamptz, ${eventsWritten('changed', count)}
      from head, given where exists (select 1 from changed)
    ), counted as (${addToMinute(workspaceId, moved)})
    select id from changed
  `.execute(db);
  return new Set(rows.map((row) => row.id));
}

/** Their ids sort in the order of arrival. */
export async function keepOrphans(
  db: Kysely<MessagingTables>,
  orphans: readonly FromProvider[],
): Promise<void> {
  const id = newId('rcp');
  await sql`
    insert into orphan_receipts (
      id, message_id, provider, provider_id, receipt, to_address, from_address, reference, look_at
    )
    select r.id, r.message_id, r.provider, r.provider_id, r.receipt::jsonb, r.to_address, r.from_address, r.reference,
      case when r.to_address is not null
        then now() + ${LIMITS.lostIdFirstLookMs} * interval '1 millisecond' end
    from unnest(
      ${orphans.map((_, i) => `${id}.${String(i).padStart(5, '0')}`)}::text[],
      ${orphans.map(({ receipt }) => receipt.id ?? null)}::text[],
      ${orphans.map(({ provider }) => provider)}::text[],
      ${orphans.map(({ receipt }) => receipt.providerId ?? null)}::text[],
      ${orphans.map(({ receipt: { about: _, ...receipt } }) => JSON.stringify(receipt))}::text[],
      ${orphans.map(({ receipt }) => receipt.about?.to ?? null)}::text[],
      ${orphans.map(({ receipt }) => receipt.about?.from ?? null)}::text[],
      ${orphans.map(({ receipt }) => receipt.about?.reference ?? null)}::int[]
    ) as r(id, message_id, provider, provider_id, receipt, to_address, from_address, reference)
  `.execute(db);
}

export type Orphan = FromProvider & { id: string };

interface OrphanRow extends Orphan {
  to_address: string | null;
  from_address: string | null;
  reference: number | null;
}

function orphanOf({
  id,
  provider,
  receipt,
  to_address: to,
  from_address: from,
  reference,
}: OrphanRow): Orphan {
  const about = to === null || from === null ? undefined : { to, from, reference: reference ?? undefined };
  return { id, provider, receipt: { ...receipt, about } };
}

/** Early receipts of messages whose hand-over is recorded now, oldest first. */
export async function orphansOf(
  db: Kysely<MessagingTables>,
  provider: string,
  handedOver: readonly { id: string; providerId: string | undefined }[],
): Promise<Orphan[]> {
  const providerIds = handedOver.flatMap((one) => (one.providerId === undefined ? [] : [one.providerId]));
  const { rows } = await sql<OrphanRow>`
    select id, provider, receipt, to_address, from_address, reference from orphan_receipts
    where message_id = any(${handedOver.map((one) => one.id)}::text[])
      or (provider in (${provider}, ${kindOf(provider)}) and provider_id = any(${providerIds}::text[]))
    order by id
  `.execute(db);
  return rows.map(orphanOf);
}

/** Early receipts whose message has been handed over meanwhile, for the sweep that misses none. */
export async function ripeOrphans(db: Kysely<MessagingTables>, limit: number): Promise<Orphan[]> {
  const { rows } = await sql<OrphanRow>`
    select o.id, o.provider, o.receipt, o.to_address, o.from_address, o.reference from orphan_receipts o
    where exists (
      select 1 from messages m where m.id = o.message_id and m.state not in ('scheduled', 'accepted')
    ) or exists (
      select 1 from (
        select o.provider as name
        union all select a.kind || ':' || a.id from accounts a where a.kind = o.provider
      ) n cross join lateral ${carriersMessages(sql`n.name`, sql`o.provider_id`)} c
      join messages m on m.id = c.message_id and m.provider = n.name and m.provider_id = o.provider_id
      where m.state not in ('scheduled', 'accepted')
        and not ${meansAnother(sql`m.provider`, sql`m.to_address`, sql`o.to_address`)}
    )
    order by o.id limit ${limit}
  `.execute(db);
  return rows.map(orphanOf);
}

export async function dropOrphans(db: Kysely<MessagingTables>, ids: readonly string[]): Promise<void> {
  await sql`delete from orphan_receipts where id = any(${ids}::text[])`.execute(db);
}

export async function dropOldOrphans(db: Kysely<MessagingTables>, olderThanHours: number): Promise<void> {
  await sql`
    delete from orphan_receipts where received_at < now() - ${olderThanHours} * interval '1 hour'
  `.execute(db);
}
