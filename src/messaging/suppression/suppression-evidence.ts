import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { SuppressionEvidence } from '../../domain/message-history';
import type { MessagingTables } from '../model/tables';
import { erasedKeySql } from './erased-address';
import { addressKeySql, senderKeySql } from './suppression-check';

/** A message that was kept back, and when. */
export interface SuppressedMessage {
  uid: string;
  channel: Channel;
  to: string;
  from: string;
  at: string;
}

/**
 * SQL: the oldest entry by which `isSuppressed` forbids the message, as JSON; null without one. Use it for few
 * rows of a statement, because each costs a probe of the primary key.
 */
export function suppressionEntry(
  workspaceId: string,
  { channel, to, from }: { channel: Channel; to: RawBuilder<unknown>; from: string },
): RawBuilder<SuppressionEvidence | null> {
  return sql`(
    select jsonb_build_object('channel', s.channel, 'sender', s.sender, 'reason', s.reason, 'source', s.source,
      'since', to_char(s.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    from suppressions s
    where s.workspace_id = ${workspaceId}
      and s.address in (${addressKeySql(to)}, ${erasedKeySql(workspaceId, addressKeySql(to))})
      and s.channel in (${channel}::text, 'all') and s.sender in ('', ${senderKeySql(sql`${from}::text`)})
    order by s.created_at limit 1)`;
}

/**
 * The entry that kept each message back, even if it was lifted since. It is missing if it is no longer
 * remembered, because only the latest lifted entries of each address are kept.
 */
export async function suppressionsAt(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  messages: readonly SuppressedMessage[],
): Promise<Map<string, SuppressionEvidence>> {
  if (messages.length === 0) return new Map();
  const { rows } = await sql<Omit<SuppressionEvidence, 'since'> & { uid: string; since: Date }>`
    select told.uid, found.* from unnest(
      ${messages.map(({ uid }) => uid)}::text[], ${messages.map(({ channel }) => channel)}::text[],
      ${messages.map(({ to }) => to)}::text[], ${messages.map(({ from }) => from)}::text[],
      ${messages.map(({ at }) => at)}::timestamptz[]) as told(uid, channel, to_address, from_address, at)
    cross join lateral (
      select s.channel, s.sender, s.reason, s.source, s.since from (
        select workspace_id, address, channel, sender, reason, source, created_at as since from suppressions
        union all
        select workspace_id, address, channel, sender, reason, source, blocked_at from lifted_suppressions
        where lifted_at >= told.at
      ) s
      where s.workspace_id = ${workspaceId} and s.address in (
          ${addressKeySql(sql`told.to_address`)}, ${erasedKeySql(workspaceId, addressKeySql(sql`told.to_address`))})
        and s.channel in (told.channel, 'all') and s.sender in ('', ${senderKeySql(sql`told.from_address`)})
        and s.since <= told.at
      order by s.since limit 1
    ) found`.execute(db);
  return new Map(rows.map(({ uid, since, ...entry }) => [uid, { ...entry, since: since.toISOString() }]));
}
