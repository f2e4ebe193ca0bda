import { type Kysely, type RawBuilder, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import type { MessageState } from '../../domain/message';
import type { MessagingTables } from '../tables';

/** Messages by what became of them; rejected and undelivered ones count as failed. */
export interface Became {
  sent: number;
  delivered: number;
  failed: number;
}

const COUNTED: Partial<Record<MessageState, keyof Became>> = {
  sent: 'sent',
  delivered: 'delivered',
  failed: 'failed',
  rejected: 'failed',
  undelivered: 'failed',
};

/**
 * SQL for a statement with the CTE `changed`, which moves messages to these states: adds them to the present minute. One
 * row for each channel, however many messages.
 */
export function addToMinute(
  workspaceId: string,
  moved: readonly { channel: Channel; state: MessageState }[],
): RawBuilder<unknown> {
  const counts = new Map<Channel, Became>();
  for (const { channel, state } of moved) {
    const name = COUNTED[state];
    if (!name) continue;
    const count = counts.get(channel) ?? { sent: 0, delivered: 0, failed: 0 };
    count[name] += 1;
    counts.set(channel, count);
  }
  const rows = CHANNELS.flatMap((channel) => {
    const count = counts.get(channel);
    return count ? [{ channel, ...count }] : [];
  });
  return sql`
    insert into message_minutes as m (workspace_id, minute, channel, sent, delivered, failed)
    select ${workspaceId}, date_trunc('minute', now()), r.* from unnest(
      ${rows.map((row) => row.channel)}::text[], ${rows.map((row) => row.sent)}::int[],
      ${rows.map((row) => row.delivered)}::int[], ${rows.map((row) => row.failed)}::int[]) as r
    where exists (select 1 from changed)
    on conflict (workspace_id, minute, channel) do update set sent = m.sent + excluded.sent,
      delivered = m.delivered + excluded.delivered, failed = m.failed + excluded.failed`;
}

/** Sixty rows a channel, whatever the number of messages. */
export async function readLastHour(
  db: Kysely<MessagingTables>,
  workspaceId: string,
): Promise<Record<Channel, Became>> {
  const { rows } = await sql<Became & { channel: Channel }>`
    select channel, sum(sent)::int as sent, sum(delivered)::int as delivered, sum(failed)::int as failed
    from message_minutes
    where workspace_id = ${workspaceId} and minute > now() - interval '1 hour' group by channel`.execute(db);
  const none: Became = { sent: 0, delivered: 0, failed: 0 };
  return Object.fromEntries(
    CHANNELS.map((channel) => {
      const { sent, delivered, failed } = rows.find((row) => row.channel === channel) ?? none;
      return [channel, { sent, delivered, failed }];
    }),
  ) as Record<Channel, Became>;
}
