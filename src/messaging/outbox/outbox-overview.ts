import { type Kysely, type RawBuilder, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import { allDue } from '../model/due-groups';
import type { MessagingTables } from '../model/tables';

/** Messages of a workspace on one channel that are due and not with a provider. */
export interface OutboxOfChannel {
  channel: Channel;
  due: number;
  oldestSeconds: number;
  /** How many of these messages a hold, or a stop of the workspace, keeps back. */
  held: number;
}

type Row = { workspace_id: string; channel: Channel; due: number; oldest: Date; held: number };

/**
 * What waits in the outbox, by workspace. It reads the index of due messages, which the bound on the outbox keeps short, and
 * never those that have left. However many people look, a process reads it once in a while: after each reading it rests for
 * a hundred times as long as that took.
 */
export function createOutboxOverview(
  db: Kysely<MessagingTables>,
  stopped: () => RawBuilder<{ workspace_id: string }>,
) {
  let reading: Promise<readonly Row[]> | undefined;
  let freshUntilMs = 0;

  async function read(): Promise<readonly Row[]> {
    const begun = Date.now();
    const { rows } = await sql<Row>`
      select m.workspace_id, m.channel, count(*)::int as due, min(m.due_at) as oldest,
        count(*) filter (where s.workspace_id is not null or h.campaign is not null)::int as held
      from ${allDue(new Date(begun))}
      left join holds h on h.workspace_id = m.workspace_id and h.campaign = m.campaign
      left join (${stopped()}) s on s.workspace_id = m.workspace_id
      group by m.workspace_id, m.channel`.execute(db);
    const tookMs = Date.now() - begun;
    freshUntilMs = Date.now() + Math.max(LIMITS.outboxOverviewMs, tookMs * 100);
    return rows;
  }

  return async function outboxOf(workspaceId: string): Promise<OutboxOfChannel[]> {
    if (!reading || Date.now() > freshUntilMs) {
      freshUntilMs = Number.POSITIVE_INFINITY;
      reading = read().catch((error: unknown) => {
        freshUntilMs = 0;
        throw error;
      });
    }
    const own = (await reading).filter((row) => row.workspace_id === workspaceId);
    return CHANNELS.map((channel) => {
      const row = own.find((one) => one.channel === channel);
      if (!row) return { channel, due: 0, oldestSeconds: 0, held: 0 };
      const oldestSeconds = Math.max(0, Math.floor((Date.now() - row.oldest.getTime()) / 1_000));
      return { channel, due: row.due, oldestSeconds, held: row.held };
    });
  };
}

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
    from ${allDue(new Date())} group by m.channel`.execute(db);
  return rows.map(({ channel, messages, oldest }) => ({
    ...{ channel, messages },
    oldestSeconds: Math.max(0, (Date.now() - oldest.getTime()) / 1_000),
  }));
}
