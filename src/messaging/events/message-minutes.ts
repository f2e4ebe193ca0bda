import { type Kysely, type RawBuilder, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import type { MessageState } from '../../domain/message';
import { allDue } from '../model/due-groups';
import type { MessagingTables } from '../model/tables';

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

/** Workspaces by the messages that they sent within an hour: the least of each size. */
const SIZES = { idle: 0, small: 1, medium: 1_000, large: 100_000 } as const;

export interface SizeOfWorkspaces {
  size: keyof typeof SIZES;
  workspaces: number;
  messages: { sent: number; delivered: number; failed: number };
  oldestSeconds: number;
}

/**
 * What workspaces of each size sent within the last hour, and how long their oldest due message has waited. It shows whether
 * large ones hold up small ones, without naming any.
 */
export async function workspaceSizes(db: Kysely<MessagingTables>): Promise<SizeOfWorkspaces[]> {
  const now = Date.now();
  const { rows } = await sql<{ sent: number; delivered: number; failed: number; oldest: Date | null }>`
    with lately as (
      select workspace_id, sum(sent)::int as sent, sum(delivered)::int as delivered, sum(failed)::int as failed
      from message_minutes where minute >= ${new Date(now - 3_600_000).toISOString()}::timestamptz group by workspace_id
    ), due as (
      select m.workspace_id, min(m.due_at) as oldest from ${allDue(new Date(now))} group by m.workspace_id
    )
    select coalesce(t.sent, 0) as sent, coalesce(t.delivered, 0) as delivered, coalesce(t.failed, 0) as failed, d.oldest
    from workspaces w left join lately t on t.workspace_id = w.id left join due d on d.workspace_id = w.id`.execute(
    db,
  );
  const names = Object.keys(SIZES) as SizeOfWorkspaces['size'][];
  const found = new Map(
    names.map((size) => [
      size,
      { size, workspaces: 0, messages: { sent: 0, delivered: 0, failed: 0 }, oldestSeconds: 0 },
    ]),
  );
  for (const { oldest, ...counts } of rows) {
    const one = found.get(names.findLast((size) => counts.sent >= SIZES[size]) ?? 'idle');
    if (!one) continue;
    one.workspaces += 1;
    one.messages.sent += counts.sent;
    one.messages.delivered += counts.delivered;
    one.messages.failed += counts.failed;
    const waited = oldest ? Math.max(0, (now - oldest.getTime()) / 1_000) : 0;
    one.oldestSeconds = Math.max(one.oldestSeconds, waited);
  }
  return [...found.values()];
}
