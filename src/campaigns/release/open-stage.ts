import { type Kysely, sql, type Transaction } from 'kysely';
import type { Channel } from '../../domain/channel';
import { databaseNow } from '../../domain/database-clock';
import { EARLIER_CHANNEL } from '../../domain/fallback';
import { LIMITS } from '../../domain/limits';
import { OUT_OF_HOURS } from '../../domain/policy';
import { LATER_STAGE } from '../../domain/release';
import { openHours } from '../../domain/time-zones/recipient-hours';
import { dueTimes, lookAgain } from '../audience/reschedule-waiting';
import { amendRecipients } from '../ledger/move-recipients';
import type { CampaignTables } from '../model/tables';
import type { ShardRef } from '../runs/run-end';
import type { RunPlan } from '../runs/runs';
import { drawOf, FIRST_PLACE } from './release-rows';

export interface OpenedPart {
  /** Shards that have something to send now. */
  shards: ShardRef[];
  isDone: boolean;
}

/**
 * Gives the recipients of a stage that has begun their hour, a range of numbers in a transaction, which also writes down
 * how far it is. A later attempt goes on there, and a recipient that has its hour is not given another. It answers before
 * it is done when it has opened so many that sending them may begin.
 */
export async function openStage(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  stage: number,
  onStep: () => void = () => undefined,
): Promise<OpenedPart> {
  const { runId } = run;
  const { openedTo, ...places } = await readStage(db, runId, stage);
  const rows = await db
    .selectFrom('shards')
    .select(['channel', 'shard', 'from_seq', 'to_seq'])
    .where('run_id', '=', runId)
    .orderBy('shard')
    .orderBy('channel')
    .execute();
  const shards: ShardRef[] = [];
  let opened = 0;
  let walked = 0;
  for (const { channel, shard, from_seq, to_seq } of rows) {
    const before = opened;
    // What an earlier attempt has looked through of it, or all of it.
    let from = from_seq + Math.min(to_seq - from_seq, Math.max(0, openedTo - walked));
    for (; from < to_seq && opened < LIMITS.stageOpenedAtOnce; from += LIMITS.stageRange) {
      onStep();
      const to = Math.min(to_seq, from + LIMITS.stageRange);
      const upto = walked + to - from_seq;
      opened += await db.transaction().execute(async (tx) => {
        const count = await openRange(tx, run, { channel, from, to, ...places });
        await sql`
          update run_stages set opened_to = greatest(opened_to, ${upto}::int)
          where run_id = ${runId} and stage = ${stage}`.execute(tx);
        return count;
      });
    }
    walked += to_seq - from_seq;
    if (opened > before) shards.push({ channel, shard });
    if (opened >= LIMITS.stageOpenedAtOnce) return { shards, isDone: false };
  }
  await sql`
    update run_stages set opened_at = clock_timestamp()
    where run_id = ${runId} and stage = ${stage} and opened_at is null`.execute(db);
  return { shards, isDone: true };
}

interface Places {
  after: string;
  upto: string;
}

async function readStage(
  db: Kysely<CampaignTables>,
  runId: string,
  stage: number,
): Promise<Places & { openedTo: number }> {
  const rows = await db
    .selectFrom('run_stages')
    .select(['stage', 'upto', 'opened_to'])
    .where('run_id', '=', runId)
    .where('stage', 'in', [stage - 1, stage])
    .execute();
  const of = (wanted: number) => rows.find((row) => row.stage === wanted);
  return {
    after: of(stage - 1)?.upto ?? FIRST_PLACE,
    upto: of(stage)?.upto ?? FIRST_PLACE,
    openedTo: of(stage)?.opened_to ?? 0,
  };
}

/** Answers how many were opened. Their hours are worked out anew, because the policy may be another one by now. */
async function openRange(
  tx: Transaction<CampaignTables>,
  run: RunPlan,
  { channel, from, to, after, upto }: Places & { channel: Channel; from: number; to: number },
): Promise<number> {
  const { runId } = run;
  const place = drawOf(runId, sql`r.contact_id`);
  const { rows } = await sql<{ seq: number; place: string | null; address: string; turn: number | null }>`
    select r.seq, r.place, r.address, r.turn from recipients r
    where r.run_id = ${runId} and r.channel = ${channel} and r.seq >= ${from} and r.seq < ${to}
      and r.state = 'waiting' and r.code = ${LATER_STAGE} and ${place} > ${after}::uuid and ${place} <= ${upto}::uuid
    order by r.seq`.execute(tx);
  if (rows.length === 0) return 0;
  const now = databaseNow();
  const dueAt = dueTimes(run, channel, now);
  const given = rows.map((row) => ({ seq: row.seq, isTurn: (row.turn ?? 0) > 0, at: dueAt(row) }));
  const isLater = ({ at, isTurn }: { at: number; isTurn: boolean }) => at > now && !isTurn;
  const hour = sql`coalesce(result.at, now())`;
  // The code marks recipients who wait for their hours, so that a change of policy can find and recompute them.
  const waitsFor = openHours(run.options, channel).hasRules ? OUT_OF_HOURS : null;
  await amendRecipients(tx, {
    scope: { runId },
    rows: sql`
      select ${runId}::text as run_id, ${channel}::text as channel, t.* from unnest(
        ${given.map(({ seq }) => seq)}::int[], ${given.map(({ isTurn }) => isTurn)}::bool[],
        ${given.map((one) => (isLater(one) ? new Date(one.at).toISOString() : null))}::timestamptz[]
      ) as t(seq, is_turn, at)`,
    when: sql`r.state = 'waiting' and r.code = ${LATER_STAGE}`,
    set: {
      updated_at: sql`now()`,
      due_at: hour,
      // Later channels of a run that goes from channel to channel wait for their turn from now on.
      retry_at: sql`case when result.is_turn then null else ${hour} end`,
      code: sql`case when result.is_turn then ${EARLIER_CHANNEL} when result.at is not null then ${waitsFor}::text end`,
    },
  });
  await lookAgain(
    tx,
    run,
    channel,
    given.filter(isLater).map(({ seq }) => seq),
  );
  return rows.length;
}
