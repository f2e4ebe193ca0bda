import { type Kysely, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { MessagingTables } from '../model/tables';

export interface OutboxDepth {
  channel: Channel;
  messages: number;
  /** How long the oldest of them has been due. */
  oldestSeconds: number;
}

/** What is due and not with a provider, of all workspaces and processes. Its cost grows with what it counts. */
export async function outboxDepth(db: Kysely<MessagingTables>): Promise<OutboxDepth[]> {
  const { rows } = await sql<{ channel: Channel; messages: number; oldest: Date }>`
    select m.channel, count(*)::int as messages, min(m.due_at) as oldest
    from dispatch_lanes l join messages m on m.lane = l.id
    where m.due_at <= ${new Date().toISOString()}::timestamptz
    group by m.channel`.execute(db);
  return rows.map(({ channel, messages, oldest }) => ({
    ...{ channel, messages },
    oldestSeconds: Math.max(0, (Date.now() - oldest.getTime()) / 1_000),
  }));
}
