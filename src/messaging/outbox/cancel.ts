import { type Kysely, sql } from 'kysely';
import type { Message } from '../../contracts/send';
import { DomainError } from '../../domain/errors';
import { eventOf, historyEntry, historyText } from '../events/event-rows';
import type { MessagingTables } from '../tables';

export interface Canceled {
  id: string;
  lane: string;
  cancels: number;
  class: Message['class'];
  wasDue: boolean;
}

/**
 * Cancels a message that was not handed over. Its dispatcher may hold it in memory, in this process or
 * in another, so the row alone does not decide. The lane's row does: whoever cancels raises its count,
 * and a batch opens only under the count that its dispatcher knows, and only if no message in it was
 * canceled before (deliver/groups.ts). So either the batch is there first, and this fails, or the cancel is,
 * and the message is in no batch.
 *
 * Locks: lane, head, message, in the order everybody takes them.
 */
export async function cancelMessage(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  uid: string,
): Promise<Canceled | 'already_canceled'> {
  return db.transaction().execute(async (trx) => {
    const message = await trx
      .selectFrom('messages')
      .select(['id', 'lane', 'uid', 'channel', 'campaign', 'class'])
      .where('workspace_id', '=', workspaceId)
      .where('uid', '=', uid)
      .executeTakeFirst();
    if (!message) throw new DomainError('not_found', `No message '${uid}' in this workspace`);
    const lane = await trx
      .updateTable('dispatch_lanes')
      .set({ cancels: sql<number>`cancels + 1` })
      .where('id', '=', message.lane)
      .returning('cancels')
      .executeTakeFirst();

    // Its own statement, so that it sees what was committed while the lane's lock was waited for.
    const now = await trx
      .selectFrom('messages as m')
      .select(['m.state', sql<boolean>`m.due_at <= now()`.as('due'), openBatch.as('sending')])
      .where('m.id', '=', message.id)
      .executeTakeFirstOrThrow();
    if (now.state === 'canceled') return 'already_canceled';
    if (!lane || now.sending || (now.state !== 'accepted' && now.state !== 'scheduled')) {
      throw new DomainError('not_cancelable', `Message '${uid}' is ${now.sending ? 'sending' : now.state}`);
    }

    const at = new Date().toISOString();
    const event = eventOf(
      { id: message.id, uid: message.uid, channel: message.channel, campaign: message.campaign ?? undefined },
      { type: 'canceled', state: 'canceled' },
    );
    await sql`
      with head as (
        update event_heads set next_seq = next_seq + 1 where workspace_id = ${workspaceId}
        returning next_seq - 1 as first
      ), changed as (
        update messages set state = 'canceled', due_at = null, updated_at = ${at}::timestamptz,
          history = history || ${historyEntry(sql`head.first`, sql`${historyText(event, at)}::text`)}
        from head where id = ${message.id}
      )
      insert into event_log (workspace_id, first_seq, count, at, events)
      select ${workspaceId}, head.first, 1, ${at}::timestamptz, ${JSON.stringify([event])}::json from head
    `.execute(trx);
    return {
      id: message.id,
      lane: message.lane,
      cancels: lane.cancels,
      class: message.class,
      wasDue: now.due,
    };
  });
}

const openBatch = sql<boolean>`exists (
  select 1 from handover_batches b where b.lane = m.lane and m.id = any(b.message_ids)
)`;
