import { type Kysely, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import { burstOf, type SenderLimit } from '../../domain/sender-limit';
import type { MessagingTables } from '../model/tables';

/**
 * A sender's token bucket: one row. One statement refills it by the database's clock and takes tokens. A
 * process that waits for the row's lock computes from what the previous one left, so that processes share a
 * rate without messages between them. Tokens that were taken and not used, because the process died, are lost:
 * a crash makes a sender slower, never faster.
 */
export interface SenderKey {
  workspaceId: string;
  channel: Channel;
  /** In the form of domain/suppression.ts, senderKey. */
  sender: string;
}

/** What is to be handed over, in order. */
export interface Demand {
  ids: readonly string[];
  /** Tokens for the first message, for the first two, and so on. */
  costs: readonly number[];
}

export interface Grant {
  /** Number of messages granted, from the beginning of the demand. */
  granted: number;
  tokens: number;
  /** How much longer the provider's requested pause lasts. */
  silentMs: number;
  /** Live calls of the sender, including those of this grant; 0 when they are not counted. */
  calls: number;
}

/** Floating-point numbers do not add up exactly: a bucket that lacks a trillionth counts as full. */
const ALMOST = 1e-6;

/**
 * Takes as many tokens as the beginning of the demand needs and the bucket has. A message that costs more than
 * the bucket can hold passes when it is full and leaves it in debt, so that the average rate is kept.
 */
export async function takeTokens(
  db: Kysely<MessagingTables>,
  key: SenderKey,
  limit: SenderLimit,
  demand: Demand,
): Promise<Grant> {
  for (let attempt = 0; attempt < 3; attempt++) {
    const { rows } = await take(db, key, limit, demand);
    const [row] = rows;
    if (row) return { ...row, silentMs: Math.max(0, row.silentMs) };
    await fillBucket(db, key, limit);
  }
  throw new Error('The bucket of a sender disappears as soon as it is made');
}

function take(db: Kysely<MessagingTables>, key: SenderKey, limit: SenderLimit, { ids, costs }: Demand) {
  const rate = limit.rate ?? null;
  const burst = burstOf(limit);
  const concurrent = limit.concurrentCalls ?? null;
  return sql<Grant>`
    update sender_buckets b set (tokens, filled_at, granted, calls) = (
      select
        case when ${rate}::float8 is null then ${burst}::float8
          else s.tokens - case when g.n = 0 then 0 else (${costs}::float8[])[g.n] end end,
        s.at,
        g.n,
        case when ${concurrent}::int is null then b.calls else s.calls || coalesce((
          select jsonb_object_agg(id, extract(epoch from s.at) + ${LIMITS.callLeaseSeconds}::int)
          from unnest((${ids}::text[])[1:g.n]) as id
        ), '{}') end
      from (
        select c.at,
          least(
            ${burst}::float8,
            b.tokens + coalesce(${rate}::float8, 0) * greatest(0, extract(epoch from c.at - b.filled_at))
          ) as tokens,
          case when ${concurrent}::int is null then '{}'::jsonb else coalesce((
            select jsonb_object_agg(e.key, e.value) from jsonb_each(b.calls - ${ids}::text[]) as e
            where (e.value::text)::float8 > extract(epoch from c.at)
          ), '{}') end as calls
        from (select clock_timestamp() as at) as c
      ) as s
      cross join lateral (
        select case when b.paused_until > s.at then 0 else least(
          case when ${rate}::float8 is null then ${ids.length}::int else greatest(
            (select count(*) from unnest(${costs}::float8[]) as cost where cost <= s.tokens + ${ALMOST}::float8),
            case when s.tokens + ${ALMOST}::float8 >= least((${costs}::float8[])[1], ${burst}::float8) then 1 else 0 end
          ) end,
          case when ${concurrent}::int is null then ${ids.length}::int else
            greatest(0, ${concurrent}::int - (select count(*) from jsonb_object_keys(s.calls))) end
        ) end::int as n
      ) as g
    )
    where workspace_id = ${key.workspaceId} and channel = ${key.channel} and sender = ${key.sender}
    returning granted, tokens,
      coalesce(extract(epoch from paused_until - filled_at) * 1000, 0)::float8 as "silentMs",
      (select count(*) from jsonb_object_keys(calls))::int as calls
  `.execute(db);
}

async function fillBucket(db: Kysely<MessagingTables>, key: SenderKey, limit: SenderLimit): Promise<void> {
  await sql`
    insert into sender_buckets (workspace_id, channel, sender, tokens, filled_at, granted)
    values (${key.workspaceId}, ${key.channel}, ${key.sender}, ${burstOf(limit)}, clock_timestamp(), 0)
    on conflict do nothing
  `.execute(db);
}

/** For messages that were granted and did not leave. The next take keeps the bucket from overflowing. */
export async function giveBackTokens(
  db: Kysely<MessagingTables>,
  key: SenderKey,
  given: { ids: readonly string[]; cost: number },
): Promise<void> {
  await sql`
    update sender_buckets set tokens = tokens + ${given.cost}, calls = calls - ${given.ids}::text[]
    where workspace_id = ${key.workspaceId} and channel = ${key.channel} and sender = ${key.sender}
  `.execute(db);
}

/** The provider asked for a pause. A shorter pause does not end a longer one. */
export async function silenceSender(
  db: Kysely<MessagingTables>,
  key: SenderKey,
  limit: SenderLimit,
  ms: number,
): Promise<void> {
  await sql`
    insert into sender_buckets as b (workspace_id, channel, sender, tokens, filled_at, granted, paused_until)
    values (
      ${key.workspaceId}, ${key.channel}, ${key.sender}, ${burstOf(limit)}, clock_timestamp(), 0,
      clock_timestamp() + ${ms / 1_000} * interval '1 second'
    )
    on conflict (workspace_id, channel, sender) do update
      set paused_until = greatest(b.paused_until, excluded.paused_until)
  `.execute(db);
}

/** These calls are over, of all senders. */
export async function endCalls(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  ids: readonly string[],
): Promise<void> {
  await sql`
    update sender_buckets set calls = calls - ${ids}::text[]
    where workspace_id = ${workspaceId} and channel = 'voice' and jsonb_exists_any(calls, ${ids}::text[])
  `.execute(db);
}
