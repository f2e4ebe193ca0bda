import type { Kysely, Selectable } from 'kysely';
import type { Channel } from '../../domain/channel';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { listedBy } from '../../domain/not-in-workspace';
import type { SenderLimit } from '../../domain/sender-limit';
import { senderKey } from '../../domain/suppression';
import type { MessagingTables } from '../model/tables';

/**
 * Limits of single senders: exceptions from the configured limit for all, in either direction. They apply in
 * this process at once and in others within two seconds (sender-limits.ts).
 */
export interface SenderLimitList {
  list(
    workspaceId: string,
    query: { page: number; limit: number; channel?: Channel | undefined },
  ): Promise<{ limits: SenderLimitRecord[]; total: number }>;
  /** Replaces the present limit. An empty limit frees its sender. Throws `limit_reached`. */
  put(
    workspaceId: string,
    sender: { channel: Channel; sender: string },
    limit: SenderLimit,
  ): Promise<SenderLimitRecord>;
  /** The sender has the general limit again. Throws `not_found`. */
  remove(workspaceId: string, sender: { channel: Channel; sender: string }): Promise<void>;
}

export interface SenderLimitRecord {
  channel: Channel;
  sender: string;
  rate: number | null;
  burst: number | null;
  concurrentCalls: number | null;
  updatedAt: Date;
}

export function createSenderLimitList(deps: {
  db: Kysely<MessagingTables>;
  onChanged(): Promise<void>;
}): SenderLimitList {
  const { db, onChanged } = deps;
  return {
    async list(workspaceId, { page, limit, channel }) {
      let matching = db.selectFrom('sender_limits').where('workspace_id', '=', workspaceId);
      if (channel) matching = matching.where('channel', '=', channel);
      const { total } = await matching
        .select((on) => on.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      const rows = await matching
        .selectAll()
        .orderBy('channel')
        .orderBy('sender')
        .limit(limit)
        .offset((page - 1) * limit)
        .execute();
      return { limits: rows.map(toRecord), total };
    },
    async put(workspaceId, { channel, sender }, { rate, burst, concurrentCalls }) {
      const values = {
        rate: rate ?? null,
        burst: burst ?? null,
        concurrent_calls: concurrentCalls ?? null,
        updated_at: new Date(),
      };
      const others = await db
        .selectFrom('sender_limits')
        .select((on) => on.fn.countAll<number>().as('count'))
        .where('workspace_id', '=', workspaceId)
        .where((where) =>
          where.or([where('channel', '<>', channel), where('sender', '<>', senderKey(sender))]),
        )
        .executeTakeFirstOrThrow();
      if (others.count >= LIMITS.senderLimits) {
        const text = `A workspace has at most ${LIMITS.senderLimits} senders with a limit of their own; lift one first`;
        throw new DomainError('limit_reached', text);
      }
      const row = await db
        .insertInto('sender_limits')
        .values({ workspace_id: workspaceId, channel, sender: senderKey(sender), ...values })
        .onConflict((conflict) => conflict.columns(['workspace_id', 'channel', 'sender']).doUpdateSet(values))
        .returningAll()
        .executeTakeFirstOrThrow();
      await onChanged();
      return toRecord(row);
    },
    async remove(workspaceId, { channel, sender }) {
      const { numDeletedRows } = await db
        .deleteFrom('sender_limits')
        .where('workspace_id', '=', workspaceId)
        .where('channel', '=', channel)
        .where('sender', '=', senderKey(sender))
        .executeTakeFirst();
      if (numDeletedRows === 0n)
        throw new DomainError(
          'not_found',
          `This sender has no limit of its own on the channel ${channel}; ${listedBy('/api/sender-limit')}`,
        );
      await onChanged();
    },
  };
}

function toRecord(row: Selectable<MessagingTables['sender_limits']>): SenderLimitRecord {
  const { channel, sender, rate, burst, concurrent_calls, updated_at } = row;
  return { channel, sender, rate, burst, concurrentCalls: concurrent_calls, updatedAt: updated_at };
}
