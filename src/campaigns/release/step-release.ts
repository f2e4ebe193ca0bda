import { type Kysely, sql, type Transaction } from 'kysely';
import type { Channel } from '../../domain/channel';
import { deliveryRule } from '../../domain/delivery-rule';
import { stageSizes, stagesOf } from '../../domain/release';
import type { CampaignTables } from '../model/tables';
import { frozenShards, type ShardRef } from '../runs/run-end';
import type { RunPlan } from '../runs/runs';
import { expireEnded } from '../stops/expire-overdue';
import { closeIfTooMany, judgeGates } from './gates';
import { openStage } from './open-stage';
import { drawOf, FIRST_PLACE, LAST_PLACE, lockRelease, type ReleaseStanding } from './release-rows';
import { stageHold } from './stage-sent';

/**
 * The release of a run in stages (docs/campaigns.md, decision 38). All recipients are frozen as `waiting` for their stage, without
 * an hour, so that no page takes them. What decides is stored, each step in one transaction under the row of the run:
 *
 *   frozen → drawn → stage 1 begun → opened → sent → (wait) → judged → stage 2 begun → … → last stage sent
 *                                      │                        └→ closed: the run is paused or canceled
 *                                      └→ closed while it is being sent
 *
 *   begun    the stage's recipients are given their hour, range by range; one that has it is sent to like any other
 *   opened   all of them have it
 *   sent     each was handed over once or has ended (stage-sent.ts); `next_at` is when the wait is over
 *   judged   the gates are judged in the transaction that begins the next stage, so that none begins unjudged or twice
 *
 * When the campaign's end comes during a wait, no further stage begins: its recipients are `expired`.
 *
 * Killed between two steps, the next look goes on from what is stored. A run that is paused, or whose gate is closed,
 * takes no step; its waits go on, because their ends are times.
 */
export interface ReleaseStep {
  /** Shards that have something to send because a stage was opened. */
  shards: ShardRef[];
  /** When the next step is to be taken, if nothing happens before. */
  waitMs?: number;
  /** A gate was closed with this step. */
  isClosed?: boolean;
}

export interface StepContext {
  launch?: number | undefined;
  /** Whether the service reports events after it has accepted a message. */
  tellsMore: boolean;
  /** Channels that are closed at this hour for all recipients. */
  closed: readonly Channel[];
  onStep?: (() => void) | undefined;
}

/** Between two parts of a stage that is being opened; what was opened is sent meanwhile. */
const NEXT_PART_MS = 1;

/** Takes the steps that may be taken now. */
export async function stepRelease(
  db: Kysely<CampaignTables>,
  run: RunPlan,
  context: StepContext,
): Promise<ReleaseStep> {
  const shards = new Map<string, ShardRef>();
  for (;;) {
    context.onStep?.();
    const step = await db.transaction().execute((tx) => advance(tx, run, context));
    if (step.kind === 'rest') return { ...step.with, shards: [...shards.values()] };
    if (step.kind === 'over') {
      await expireEnded(db, run, context.onStep);
      return { shards: [...shards.values()] };
    }
    if (step.kind === 'draw') await drawStages(db, run);
    if (step.kind !== 'open') continue;
    const part = await openStage(db, run, step.stage, context.onStep);
    for (const shard of part.shards) shards.set(`${shard.channel} ${shard.shard}`, shard);
    if (!part.isDone) return { shards: [...shards.values()], waitMs: NEXT_PART_MS };
  }
}

type Advance =
  | { kind: 'draw' | 'again' | 'over' }
  | { kind: 'open'; stage: number }
  | { kind: 'rest'; with: Omit<ReleaseStep, 'shards'> };

const AGAIN: Advance = { kind: 'again' };
const rest = (more: Omit<ReleaseStep, 'shards'> = {}): Advance => ({ kind: 'rest', with: more });

async function advance(
  tx: Transaction<CampaignTables>,
  run: RunPlan,
  { launch, tellsMore, closed }: StepContext,
): Promise<Advance> {
  const { runId } = run;
  const at = await lockRelease(tx, run);
  if (!at.goesOn || (launch !== undefined && launch !== at.launch) || at.closedAt) return rest();
  if (at.contacts === null) return (await frozenShards(tx, runId)) ? { kind: 'draw' } : rest();
  if (at.stage === 0) return begin(tx, runId, 1);
  if (!at.openedAt) return { kind: 'open', stage: at.stage };
  if (!at.sentAt) {
    if (await closeIfTooMany(tx, run, at, tellsMore)) return rest({ isClosed: true });
    const goesInTurns = run.options.strategy === 'fallback';
    const hold = await stageHold(tx, runId, at, { tellsMore, closed, goesInTurns });
    if (hold.kind === 'held') return rest(hold.waitMs === undefined ? {} : { waitMs: hold.waitMs });
    return markSent(tx, run, at);
  }
  if (at.stage === at.stages) return rest();
  const { endsAtMs = Number.POSITIVE_INFINITY } = deliveryRule(run.options);
  const now = at.now.getTime();
  if (endsAtMs <= now) return { kind: 'over' };
  const leftMs = Math.min(at.nextAt?.getTime() ?? Number.POSITIVE_INFINITY, endsAtMs) - now;
  if (leftMs > 0) return rest(Number.isFinite(leftMs) ? { waitMs: leftMs } : {});
  if (await judgeGates(tx, run, at, tellsMore)) return rest({ isClosed: true });
  return begin(tx, runId, at.stage + 1);
}

async function begin(tx: Transaction<CampaignTables>, runId: string, stage: number): Promise<Advance> {
  await tx
    .updateTable('run_releases')
    .set({ stage })
    .where('run_id', '=', runId)
    .where('stage', '=', stage - 1)
    .execute();
  await sql`
    update run_stages set begun_at = clock_timestamp() where run_id = ${runId} and stage = ${stage}`.execute(
    tx,
  );
  return AGAIN;
}

/** A look is left for the end of the wait, so that the watcher wakes the run then whatever becomes of its timer. */
async function markSent(
  tx: Transaction<CampaignTables>,
  { runId, options }: RunPlan,
  { stage, stages, releasedTo }: ReleaseStanding,
): Promise<Advance> {
  const wait = options.release?.stages[stage - 1]?.waitSeconds;
  const seconds = stage === stages ? null : releasedTo >= stage ? 0 : (wait ?? null);
  await sql`
    with sent as (
      update run_stages set sent_at = clock_timestamp(),
        next_at = clock_timestamp() + make_interval(secs => ${seconds}::float8)
      where run_id = ${runId} and stage = ${stage} and sent_at is null returning next_at
    )
    insert into run_looks (run_id, at) select ${runId}, next_at from sent where next_at > clock_timestamp()`.execute(
    tx,
  );
  return AGAIN;
}

/**
 * Draws which contact is in which stage, once the whole audience is frozen. A contact's place follows from the run and the
 * contact alone, so that only the places between two stages are stored: a million recipients cost one read and no write,
 * and an attempt that repeats it comes to the same.
 */
async function drawStages(db: Kysely<CampaignTables>, run: RunPlan): Promise<void> {
  const { runId, options } = run;
  if (!options.release) return;
  const { release } = options;
  const { rows } = await sql<{ contacts: number }>`
    select count(distinct contact_id)::int as contacts from recipients where run_id = ${runId}`.execute(db);
  const contacts = rows[0]?.contacts ?? 0;
  const sizes = stageSizes(release, contacts);
  const places = await placesBetween(db, runId, sizes);
  await db.transaction().execute(async (tx) => {
    const standing = await lockRelease(tx, run);
    if (standing.contacts !== null) return;
    await tx
      .insertInto('run_stages')
      .values(
        sizes.map((size, i) => ({
          run_id: runId,
          stage: i + 1,
          contacts: size,
          upto: places[i] ?? LAST_PLACE,
        })),
      )
      .execute();
    await tx
      .updateTable('run_releases')
      .set({ contacts, stages: stagesOf(release) })
      .where('run_id', '=', runId)
      .execute();
  });
}

/** The place of each stage's last contact, but of the last stage's. */
async function placesBetween(
  db: Kysely<CampaignTables>,
  runId: string,
  sizes: readonly number[],
): Promise<string[]> {
  const ends: number[] = [];
  for (const size of sizes.slice(0, -1)) ends.push((ends.at(-1) ?? 0) + size);
  const { rows } = await sql<{ number: number; place: string }>`
    select number, place from (
      select row_number() over (order by place)::int as number, place from (
        select ${drawOf(runId, sql`contact_id`)} as place
        from (select distinct contact_id from recipients where run_id = ${runId}) contact
      ) drawn
    ) ranked where number = any(${ends}::int[])`.execute(db);
  const byNumber = new Map(rows.map(({ number, place }) => [number, place]));
  return ends.map((end) => byNumber.get(end) ?? FIRST_PLACE);
}
