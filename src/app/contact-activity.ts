import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { ContactActivity } from '../campaigns/model/dependencies';
import { LIMITS } from '../domain/limits';
import { trackMessages } from '../messaging/events/tracking';
import type { MessagingTables } from '../messaging/model/tables';

/**
 * What the messaging half of this installation knows. For messages that went through another service, its
 * events are in the ledger.
 */
export function contactActivity(db: Kysely<MessagingTables>): ContactActivity {
  return {
    async messagesOf(workspaceId, uids) {
      const messages = await trackMessages(db, workspaceId, uids);
      return messages.map(({ uid, state, code, events }) => ({
        uid,
        state,
        code: code ?? null,
        events: events.map((event) => ({
          at: event.at,
          type: event.type,
          state: event.state,
          ...(event.code === undefined ? {} : { code: event.code }),
        })),
      }));
    },
    async suppressionsOf(workspaceId, addresses) {
      if (addresses.length === 0) return [];
      const rows = await db
        .selectFrom('suppressions')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('address', '=', sql<string>`any(${addresses}::text[])`)
        .orderBy('updated_at', 'desc')
        .limit(LIMITS.timelineBlocks)
        .execute();
      return rows.map(({ id, channel, address, sender, reason, source, created_at, updated_at }) => ({
        id,
        channel,
        address,
        sender,
        reason,
        source,
        since: created_at,
        changedAt: updated_at,
      }));
    },
    async liftedOf(workspaceId, addresses) {
      if (addresses.length === 0) return [];
      const rows = await db
        .selectFrom('lifted_suppressions')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('address', '=', sql<string>`any(${addresses}::text[])`)
        .orderBy('lifted_at', 'desc')
        .limit(addresses.length * LIMITS.liftedBlocks)
        .execute();
      return rows.map(
        ({ id, channel, address, sender, reason, source, blocked_at, lifted_at, lifted_by }) => ({
          id,
          channel,
          address,
          sender,
          reason,
          source,
          since: blocked_at,
          liftedAt: lifted_at,
          liftedBy: lifted_by,
        }),
      );
    },
  };
}
