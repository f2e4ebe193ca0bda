import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { Control } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import { type DeliveryOptions, deliveryRule, expires } from '../../domain/delivery-rule';
import { LIMITS } from '../../domain/limits';
import { LATER_STAGE } from '../../domain/release';
import { moveRecipients } from '../ledger/move-recipients';
import { afterExpiry, codeOfDoubt } from '../ledger/unknown-ends';
import { retryTransaction } from '../model/retry-transaction';
import type { CampaignTables } from '../model/tables';

interface Shard {
  runId: string;
  channel: Channel;
  shard: number;
}

/**
 * Ends the recipients of a stopped workspace whose time is over (api.md 19): no page is sent that would find out. Who waits
 * for another message because the first is in doubt becomes `unknown`, as in a page. Those
 * that may be with the service are left alone, because their pages or calls answer for them. Killed at any point, the
 * next sweep does the rest.
 */
export async function expireStopped(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  mayGoOn: () => boolean,
): Promise<void> {
  for (const { runId, options } of await runsThatExpire(db, workspaceId)) {
    const isOver = overdue(options, sql`now()`);
    for (const shard of await shardsOf(db, runId)) {
      while (mayGoOn() && (await expireSome(db, shard, isOver)));
    }
  }
}

/** Ends all that the run has not sent to when its campaign is over; a release that waits for its next stage opens no page. */
export async function expireEnded(
  db: Kysely<CampaignTables>,
  { runId, options }: { runId: string; options: DeliveryOptions },
  onStep: () => void = () => undefined,
): Promise<void> {
  const isOver = overdue(options, sql`now()`);
  for (const shard of await shardsOf(db, runId)) while (await expireSome(db, shard, isOver)) onStep();
}

/**
 * Ends the recipients of a shard whose time is over when it may send again, before a page is opened. The page would end them
 * too, but not at closed hours, and only with a permit for each, which takes days at a slow pace.
 */
export async function expireOverdue(
  db: Kysely<CampaignTables>,
  { runId, channel, shard }: Shard,
  { options, control }: { options: DeliveryOptions; control: Control },
  maySendFrom: Date,
): Promise<void> {
  if (control !== 'run' || !expires(deliveryRule(options))) return;
  const key = { runId, channel, shard };
  const by = sql`${maySendFrom.toISOString()}::timestamptz`;
  const isOver = overdue(options, by);
  if (await hasOverdue(db, key, { isOver, by })) while (await expireSome(db, key, isOver));
}

/** Whether the next recipient or a due retry is late. Recipients stand in the order in which they are due. */
async function hasOverdue(
  db: Kysely<CampaignTables>,
  { runId, channel, shard }: Shard,
  { isOver, by }: { isOver: RawBuilder<boolean>; by: RawBuilder<unknown> },
): Promise<boolean> {
  const { rows } = await sql<{ late: boolean }>`
    select exists (
      select from shards s join recipients r on r.run_id = s.run_id and r.channel = s.channel and r.seq = s.next_seq
      where s.run_id = ${runId} and s.channel = ${channel} and s.shard = ${shard} and r.state = 'pending' and ${isOver}
    ) or exists (
      select from recipients r
      where r.run_id = ${runId} and r.channel = ${channel} and r.shard = ${shard} and r.state = 'waiting' and r.waits
        and r.retry_at <= ${by} and ${isOver}
    ) as late`.execute(db);
  return rows[0]?.late === true;
}

async function runsThatExpire(
  db: Kysely<CampaignTables>,
  workspaceId: string,
): Promise<{ runId: string; options: DeliveryOptions }[]> {
  const { rows } = await sql<{ runId: string; options: DeliveryOptions }>`
    select r.id as "runId", c.options from runs r join campaigns c on c.id = r.campaign_id
    where r.workspace_id = ${workspaceId} and r.phase in ('running', 'finishing') and r.control in ('run', 'pause')
      and (c.options #>> '{delivery,expireAfterSeconds}' is not null
        or (c.options #>> '{schedule,endAt}' is not null and c.options #>> '{schedule,cron}' is null))
    order by r.id`.execute(db);
  return rows;
}

async function shardsOf(db: Kysely<CampaignTables>, runId: string): Promise<Shard[]> {
  const { rows } = await sql<Shard>`
    select run_id as "runId", channel, shard from shards where run_id = ${runId} order by channel, shard`.execute(
    db,
  );
  return rows;
}

/**
 * SQL: the time of a recipient `r` is over by then, as delivery-rule.ts counts it. One of a later stage is not due yet, so that
 * only the end of the whole run ends it.
 */
function overdue(options: DeliveryOptions, by: RawBuilder<unknown>): RawBuilder<boolean> {
  const { expireAfterMs, endsAtMs } = deliveryRule(options);
  const endsAt = endsAtMs === undefined ? null : new Date(endsAtMs).toISOString();
  return sql<boolean>`least(
    case when r.code is distinct from ${LATER_STAGE} then r.due_at end
      + ${expireAfterMs ?? null}::float8 * interval '1 millisecond', ${endsAt}::timestamptz) < ${by}`;
}

/**
 * The shard's row is locked as it is when a page is opened, and then its pages, so that none of them offers a recipient
 * while it is ended here. Recipients stand in the order in which they are due, so what has expired of those that no page
 * has taken yet is the beginning of them. Answers whether there may be more.
 */
function expireSome(db: Kysely<CampaignTables>, key: Shard, isOver: RawBuilder<boolean>): Promise<boolean> {
  return retryTransaction(db, async (tx) => {
    const { rows } = await sql<{ from_seq: number; next_seq: number; to_seq: number }>`
      select from_seq, next_seq, to_seq from shards where ${isOfShard(key)} for update`.execute(tx);
    const [shard] = rows;
    if (!shard) return false;
    await sql`select from pages where ${isOfShard(key)} for update`.execute(tx);
    const end = await takeOverdue(tx, key, shard, isOver);
    const moved = await moveRecipients(tx, {
      scope: key,
      rule: 'overdue',
      rows: sql`
        select r.run_id, r.channel, r.seq, ${afterExpiry} as state
        from (${unsent(key, { ...shard, end }, isOver)}) waiting
        join recipients r on r.run_id = waiting.run_id and r.channel = waiting.channel and r.seq = waiting.seq`,
      set: {
        code: codeOfDoubt(sql`'expired'`),
        retry_at: sql`null`,
      },
    });
    return (moved.expired ?? 0) + (moved.unknown ?? 0) >= LIMITS.expireWaitingRows;
  });
}

/** Takes what has expired out of what pages will open, and answers where that ends. */
async function takeOverdue(
  tx: Transaction<CampaignTables>,
  key: Shard,
  { next_seq: from, to_seq }: { next_seq: number; to_seq: number },
  isOver: RawBuilder<boolean>,
): Promise<number> {
  const bound = Math.min(to_seq, from + LIMITS.expireWaitingRows);
  const { rows } = await sql<{ end: number | null }>`
    select max(r.seq) + 1 as end from recipients r
    where r.run_id = ${key.runId} and r.channel = ${key.channel} and r.seq >= ${from} and r.seq < ${bound}
      and ${isOver}`.execute(tx);
  const end = rows[0]?.end ?? from;
  if (end > from) await sql`update shards set next_seq = ${end} where ${isOfShard(key)}`.execute(tx);
  return end;
}

/**
 * Recipients that certainly are not with the service: just taken; in a page beyond what it has offered; with a workflow
 * for a call that is not written down yet; or waiting for another try or for a later stage. Those that wait for an
 * earlier channel stay, because its outcome may make them needless. Each part is bounded and reads one index.
 */
function unsent(
  { runId, channel, shard }: Shard,
  { from_seq, next_seq, end }: { from_seq: number; next_seq: number; end: number },
  isOver: RawBuilder<boolean>,
): RawBuilder<unknown> {
  const isOfRun = sql`r.run_id = ${runId} and r.channel = ${channel}`;
  const row = sql`select r.run_id, r.channel, r.seq from recipients r`;
  const most = sql`limit ${LIMITS.expireWaitingRows}`;
  const withWorkflow = sql`
    (${row} where ${isOfRun} and r.seq >= ${from_seq} and r.seq < ${next_seq} and r.state = 'pending' and ${isOver}
      ${most})`;
  const inPages = sql`
    (select r.run_id, r.channel, r.seq from pages p join recipients r on r.run_id = p.run_id
      and r.channel = p.channel and r.seq >= p.from_seq + p.offered and r.seq < p.to_seq
    where p.run_id = ${runId} and p.channel = ${channel} and p.shard = ${shard} and p.seqs is null
      and r.state = 'pending' and ${isOver} ${most})`;
  return sql`
    (${row} where ${isOfRun} and r.seq >= ${next_seq} and r.seq < ${end} and r.state = 'pending')
    union ${channel === 'voice' ? withWorkflow : inPages}
    union
    (${row} where ${isOfRun} and r.shard = ${shard} and r.waits
      and (r.retry_at is not null or r.code = ${LATER_STAGE}) and ${isOver}
      and not exists (
        select from pages p cross join lateral unnest(p.seqs) with ordinality as listed(seq, position)
        where p.run_id = r.run_id and p.channel = r.channel and p.shard = r.shard and listed.seq = r.seq
          and listed.position > p.resolved and listed.position <= p.offered)
      ${most})`;
}

const isOfShard = ({ runId, channel, shard }: Shard) =>
  sql`run_id = ${runId} and channel = ${channel} and shard = ${shard}`;
