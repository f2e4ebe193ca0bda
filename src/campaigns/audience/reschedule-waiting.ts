import { type Kysely, sql, type Transaction } from 'kysely';
import type { Channel } from '../../domain/channel';
import { databaseNow } from '../../domain/database-clock';
import { deliveryRule } from '../../domain/delivery-rule';
import { ANSWER_LOST } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { FREQUENCY_CAP, OUT_OF_HOURS } from '../../domain/policy';
import { phonePrefix } from '../../domain/time-zones/phone-zones';
import { amendRecipients } from '../ledger/move-recipients';
import type { CampaignTables } from '../model/tables';
import { unfinishedFreeze } from '../runs/run-end';
import { loadRun, type RunPlan } from '../runs/runs';
import { dueSeconds, UNKNOWN_PLACE } from './audience-time-zones';

/**
 * Recipients that wait by a policy which is no longer in force. When the workspace's policy changes, those who
 * may be reached sooner by the new one fall due sooner; those who may not any more are found by the look at the
 * hours before each chunk and each call, and are left as they are here.
 *
 * A run remembers the policy that it was brought up to (`runs.policy_version`), and does so last: killed in the
 * middle, it is done again from the beginning, which changes nothing where it was done. While its audience is still
 * being frozen it remembers nothing, because a shard may stand later that was begun under the old policy. Steps are a range of
 * numbers each and commit by themselves, so that sending goes on beside them.
 *
 * A recipient who is put off by the old policy while this goes on is not missed: he is written under a share lock on the
 * run's row, after which the policy is looked at again (`lookAgain`), and this waits for those locks before it reads.
 */
export async function recallWaiting(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  { onStep = () => undefined, now = databaseNow() }: { onStep?: () => void; now?: number } = {},
): Promise<void> {
  if (run.phase === 'planning' || run.followedPolicy >= run.policyVersion) return;
  await sql`select id from runs where id = ${run.runId} for update`.execute(db);
  const shards = await db
    .selectFrom('shards')
    .select(['channel', 'shard', 'from_seq', 'to_seq'])
    .where('run_id', '=', run.runId)
    .execute();
  for (const { channel, shard, from_seq, to_seq } of shards) {
    const soonest = soonestTimes(run, channel, now);
    // No recipient falls due before one with a smaller number: that is the order in which pages are taken (ledger.ts).
    let earliest = 0;
    for (let from = from_seq; from < to_seq; from += LIMITS.recallRange) {
      onStep();
      const range = { channel, shard, from, to: Math.min(to_seq, from + LIMITS.recallRange) };
      earliest = await recallRange(db, run.runId, range, { soonest, earliest });
    }
  }
  await sql`
    update runs set policy_version = ${run.policyVersion}::int
    where id = ${run.runId} and coalesce(policy_version, 0) < ${run.policyVersion}::int
      and not ${unfinishedFreeze(run.runId)}`.execute(db);
}

interface Place {
  place: string | null;
  address: string;
}

/** When a recipient is due by what holds now. Recipients are many and their places few. */
export function dueTimes({ options }: RunPlan, channel: Channel, now: number): (where: Place) => number {
  const due = dueSeconds(options, channel, now);
  const known = new Map<string, number>();
  return ({ place, address }) => {
    // Recipients have no place if the campaign did not use recipients' time zones when the audience was
    // frozen.
    const where = place ?? phonePrefix(address) ?? UNKNOWN_PLACE;
    const at = known.get(where) ?? Math.max(now, (due(where) ?? 0) * 1_000);
    known.set(where, at);
    return at;
  };
}

interface Waiting extends Place {
  code: string | null;
  updated_at: Date;
}

/** When one who waits may be asked about again, as far as the policy decides. */
function soonestTimes(run: RunPlan, channel: Channel, now: number): (row: Waiting) => number {
  const dueAt = dueTimes(run, channel, now);
  const longestDelayMs = deliveryRule(run.options).policy.maxDelaySeconds * 1_000;
  return (row) => {
    // Caps are checked when it is the recipient's turn.
    if (row.code === FREQUENCY_CAP) return now;
    if (row.code !== ANSWER_LOST) return dueAt(row);
    // One in doubt may wait for its next attempt, and not for its hours: a policy leaves that delay as it is.
    return Math.max(dueAt(row), row.updated_at.getTime() + longestDelayMs);
  };
}

interface Range {
  channel: Channel;
  shard: number;
  from: number;
  to: number;
}

/** Answers when the last one of the range falls due, if that is later than `earliest`. */
async function recallRange(
  db: Kysely<CampaignTables>,
  runId: string,
  { channel, shard, from, to }: Range,
  { soonest, earliest }: { soonest(row: Waiting): number; earliest: number },
): Promise<number> {
  return db.transaction().execute(async (tx) => {
    // No page of the shard is opened meanwhile: who has not been taken on stays so.
    const { next_seq } = await tx
      .selectFrom('shards')
      .select('next_seq')
      .where('run_id', '=', runId)
      .where('channel', '=', channel)
      .where('shard', '=', shard)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const { rows } = await sql<Waiting & { seq: number; state: string; at: Date }>`
      select seq, state, code, place, address, updated_at, case state when 'pending' then due_at else retry_at end as at
      from recipients
      where run_id = ${runId} and channel = ${channel} and seq >= ${from} and seq < ${to} and (
        (state = 'pending' and seq >= ${next_seq} and due_at > now())
        or (state = 'waiting' and retry_at > now() and code in (${OUT_OF_HOURS}, ${FREQUENCY_CAP}, ${ANSWER_LOST})))
      order by seq for update`.execute(tx);
    let latest = earliest;
    const sooner: { seq: number; at: number }[] = [];
    for (const row of rows) {
      let at = soonest(row);
      if (row.state === 'pending') {
        latest = Math.max(latest, at);
        at = latest;
      }
      if (at < row.at.getTime()) sooner.push({ seq: row.seq, at });
    }
    if (sooner.length) await moveUp(tx, runId, channel, sooner);
    return latest;
  });
}

/** States stay what they are, and so do the counts. */
async function moveUp(
  tx: Transaction<CampaignTables>,
  runId: string,
  channel: Channel,
  sooner: readonly { seq: number; at: number }[],
): Promise<void> {
  await amendRecipients(tx, {
    scope: { runId },
    rows: sql`
      select ${runId}::text as run_id, ${channel}::text as channel, t.* from unnest(
        ${sooner.map(({ seq }) => seq)}::int[],
        ${sooner.map(({ at }) => new Date(at).toISOString())}::timestamptz[]) as t(seq, at)`,
    set: {
      updated_at: sql`now()`,
      due_at: sql`case r.state when 'pending' then result.at else r.due_at end`,
      retry_at: sql`case r.state when 'pending' then r.retry_at else result.at end`,
    },
  });
}

/**
 * In the transaction that has put recipients off: should the policy have changed since the run was read, they
 * are due at once, and the new policy is applied to them.
 */
export async function lookAgain(
  tx: Kysely<CampaignTables>,
  { runId, policyVersion }: Pick<RunPlan, 'runId' | 'policyVersion'>,
  channel: Channel,
  seqs: readonly number[],
): Promise<void> {
  if (seqs.length === 0) return;
  await sql`select id from runs where id = ${runId} for share`.execute(tx);
  if ((await loadRun(tx, runId)).policyVersion === policyVersion) return;
  await amendRecipients(tx, {
    scope: { runId },
    rows: sql`
      select ${runId}::text as run_id, ${channel}::text as channel, seq from unnest(${[...seqs]}::int[]) as t(seq)`,
    when: sql`r.state = 'waiting' and r.retry_at > now()`,
    set: { retry_at: sql`now()`, updated_at: sql`now()` },
  });
}
