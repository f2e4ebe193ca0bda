import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Message } from '../../contracts/send';
import type { Channel } from '../../domain/channel';
import { ANSWER_LOST, DomainError } from '../../domain/errors';
import { notInWorkspace } from '../../domain/not-in-workspace';
import { eventOf } from '../events/event-rows';
import { historyEntry, historyText } from '../events/history';
import type { Outcome } from '../model/outgoing';
import type { MessagingTables } from '../model/tables';

export interface Canceled {
  id: string;
  lane: string;
  cancels: number;
  class: Message['class'];
  channel: Channel;
  campaign: string | undefined;
  dueMs: number | undefined;
  /** An idempotent provider may have taken it. It is given to none again, and its end is `unknown`. */
  inDoubt: boolean;
}

/**
 * Cancels messages that were not handed over. Their dispatcher may hold them in memory, in this process or
 * in another, so their rows alone do not decide. The partition's row does: who cancels raises its count,
 * and a group opens only under the count that its dispatcher knows, and only if no message in it was
 * canceled before (deliver/groups.ts). So either the group is there first, and this fails, or the cancel is,
 * and the message is in no group.
 *
 * One that waits for another try at an idempotent provider may have been taken at the last one. It is tried no more, and
 * recorded as `unknown`, because `canceled` says that it never was.
 *
 * Cancels that come together are one transaction, because each one raises the count under the partition's lock: one by
 * one, the thousands of a canceled campaign would keep the partition from opening groups for as long as they last.
 *
 * Locks: partitions, head, messages, in the order that every statement takes them.
 */
export async function cancelMessages(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  uids: readonly string[],
): Promise<Outcome<Canceled | 'already_canceled'>[]> {
  return db.transaction().execute(async (trx) => {
    const found = await trx
      .selectFrom('messages')
      .select(['id', 'lane', 'uid', 'channel', 'campaign', 'class'])
      .where('workspace_id', '=', workspaceId)
      .where('uid', '=', sql<string>`any(${[...uids]}::text[])`)
      .execute();
    const lanes = await raiseCounts(
      trx,
      found.map(({ lane }) => lane),
    );
    // Its own statement, so that it sees what was committed while the partitions' locks were waited for.
    const states = await readStates(
      trx,
      found.map(({ id }) => id),
    );
    const byUid = new Map(found.map((message) => [message.uid, message]));
    const ending = new Map<string, Ending>();
    const outcomes = uids.map((uid): Outcome<Canceled | 'already_canceled'> => {
      const message = byUid.get(uid);
      const now = message && states.get(message.id);
      if (!message || !now) return refused(notInWorkspace(`message '${uid}'`, '/messages'));
      if (now.state === 'canceled' || ending.has(message.id)) return { ok: true, answer: 'already_canceled' };
      const { id, lane, channel, class: kind } = message;
      const cancels = lanes.get(lane);
      if (cancels === undefined || now.sending || (now.state !== 'accepted' && now.state !== 'scheduled')) {
        const what = now.sending ? 'sending' : now.state;
        return refused(
          new DomainError('not_cancelable', `Message '${uid}' is ${what} and can no longer be canceled`),
        );
      }
      ending.set(id, { ...message, doubt: now.in_doubt ? now : undefined });
      const inDoubt = now.in_doubt === true;
      const campaign = message.campaign ?? undefined;
      const dueMs = now.due_at?.getTime();
      return {
        ok: true,
        answer: { id, lane, cancels, class: kind, channel, campaign, dueMs, inDoubt },
      };
    });
    if (ending.size > 0) await recordCanceled(trx, workspaceId, [...ending.values()]);
    return outcomes;
  });
}

interface Ending extends Found {
  doubt: Pick<MessageRow, 'provider' | 'attempt'> | undefined;
}
type Found = Pick<MessageRow, 'id' | 'lane' | 'uid' | 'channel' | 'campaign' | 'class'>;
type MessageRow = Selectable<MessagingTables['messages']>;

const refused = (error: DomainError): Outcome<never> => ({ ok: false, error });

/** The partitions' counts since then. */
async function raiseCounts(
  trx: Transaction<MessagingTables>,
  lanes: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ id: string; cancels: number }>`
    with locked as materialized (
      select id from dispatch_lanes where id = any(${[...new Set(lanes)]}::text[]) order by id for no key update
    )
    update dispatch_lanes l set cancels = l.cancels + 1 from locked where l.id = locked.id
    returning l.id, l.cancels`.execute(trx);
  return new Map(rows.map(({ id, cancels }) => [id, cancels]));
}

async function readStates(trx: Transaction<MessagingTables>, ids: readonly string[]) {
  const rows = await trx
    .selectFrom('messages as m')
    .select(['m.id', 'm.state', 'm.in_doubt', 'm.provider', 'm.attempt', 'm.due_at', openBatch.as('sending')])
    .where('m.id', '=', sql<string>`any(${[...ids]}::text[])`)
    .execute();
  return new Map(rows.map((row) => [row.id, row]));
}

async function recordCanceled(
  trx: Transaction<MessagingTables>,
  workspaceId: string,
  messages: readonly Ending[],
): Promise<void> {
  const at = new Date().toISOString();
  const events = messages.map(({ id, uid, channel, campaign, doubt }) =>
    eventOf({ id, uid, channel, campaign: campaign ?? undefined }, endOf(doubt)),
  );
  const count = messages.length;
  await sql`
    with head as (
      update event_heads set next_seq = next_seq + ${count}::int where workspace_id = ${workspaceId}
      returning next_seq - ${count}::int as first
    ), changed as (
      update messages m set state = r.state, code = coalesce(r.code, m.code), due_at = null, updated_at = ${at}::timestamptz,
        history = m.history || ${historyEntry(sql`(head.first + r.position - 1)`, sql`r.entry`)}
      from head, unnest(
        ${messages.map(({ id }) => id)}::text[], ${events.map(({ state }) => state)}::text[],
        ${events.map(({ code }) => code ?? null)}::text[], ${events.map((event) => historyText(event, at))}::text[]
      ) with ordinality as r(id, state, code, entry, position)
      where m.id = r.id
    )
    insert into event_log (workspace_id, first_seq, count, at, events)
    select ${workspaceId}, head.first, ${count}::int, ${at}::timestamptz, ${JSON.stringify(events)}::json from head
  `.execute(trx);
}

const endOf = (doubt: Ending['doubt']): Parameters<typeof eventOf>[1] =>
  doubt
    ? {
        ...{ type: 'unknown', state: 'unknown', code: ANSWER_LOST, attempt: doubt.attempt },
        provider: doubt.provider ?? undefined,
      }
    : { type: 'canceled', state: 'canceled' };

/**
 * Notes in its group that a message was canceled while it may be with its provider. If the provider refuses it for the
 * moment, or never got it, it is canceled then instead of put back (deliver/recorder.ts). If its process ends before the
 * answer is recorded, and the tag is held, it is not given to the provider again (deliver/recover.ts). A campaign that was
 * canceled is held for good, and would otherwise keep such messages for ever.
 *
 * Returns false when the message is in no group and can be canceled, because it was put back in the meantime. A statement
 * of its own: who records results locks the group before the partition, and who cancels has the partition.
 */
export async function noteUnwanted(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  uid: string,
): Promise<boolean> {
  const { rows } = await sql`
    with m as (
      select id, lane, state from messages where workspace_id = ${workspaceId} and uid = ${uid}
    ), noted as (
      update handover_batches b set
        unwanted = case when m.id = any(b.unwanted) then b.unwanted else coalesce(b.unwanted, '{}') || m.id end
      from m where b.lane = m.lane and m.id = any(b.message_ids) returning b.id
    )
    select from m where m.state in ('scheduled', 'accepted') and not exists (select from noted)`.execute(db);
  return rows.length === 0;
}

const openBatch = sql<boolean>`exists (
  select 1 from handover_batches b where b.lane = m.lane and m.id = any(b.message_ids)
)`;
