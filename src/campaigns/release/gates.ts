import { type Kysely, sql, type Transaction } from 'kysely';
import type { OwnReason } from '../../domain/approval';
import {
  closesAtOnce,
  type Gate,
  type GateResult,
  type GateTally,
  gateTally,
  isJudgedAtEnd,
  isJudgedWhileSent,
  type Judged,
  judgeGate,
} from '../../domain/release';
import type { CampaignTables } from '../model/tables';
import { readCounts } from '../runs/ledger-counts';
import { pauseItself, showPaused } from '../runs/own-pause';
import { hasOccurrencesAtOnce, type RunPlan } from '../runs/runs';
import { contactsBegun, lockRelease, type ReleaseStanding } from './release-rows';

type Run = Pick<RunPlan, 'runId' | 'workspaceId' | 'options'>;

/**
 * Judges the gates after a stage's wait, and writes down what they came to. True when one of them is closed: the run is
 * paused or canceled by then.
 */
export async function judgeGates(
  tx: Transaction<CampaignTables>,
  run: Run,
  standing: ReleaseStanding,
  tellsMore: boolean,
): Promise<boolean> {
  const gates = run.options.release?.gates ?? [];
  if (gates.length === 0 || !isJudgedAtEnd(standing)) return false;
  const tally = await readTally(tx, run.runId, tellsMore);
  const results = gates.map((gate) => ({ gate, result: judgeGate(gate, tally) }));
  await noteJudged(
    tx,
    run.runId,
    standing,
    results.map(({ result }) => result),
  );
  const closed = results.find(({ result }) => !result.passed);
  if (!closed) return false;
  await close(tx, run, closed);
  return true;
}

/** Closes a gate while the stage is being sent, if its count is too high already whatever follows. */
export async function closeIfTooMany(
  tx: Transaction<CampaignTables>,
  run: Run,
  standing: ReleaseStanding,
  tellsMore: boolean,
): Promise<boolean> {
  const gates = run.options.release?.gates ?? [];
  if (gates.length === 0 || standing.begunAt === null || standing.sentAt !== null) return false;
  if (!standing.goesOn || standing.closedAt !== null || !isJudgedWhileSent(standing)) return false;
  const tally = await readTally(tx, run.runId, tellsMore);
  const gate = gates.find((one) => closesAtOnce(one, tally));
  if (!gate) return false;
  const result = { ...judgeGate(gate, tally), passed: false };
  await noteJudged(tx, run.runId, standing, [result]);
  await close(tx, run, { gate, result });
  return true;
}

/** The same after something was recorded in a run, for which a moment ago a first look found a reason. */
export async function closeGateAtOnce(
  db: Kysely<CampaignTables>,
  run: Run,
  tellsMore: boolean,
): Promise<void> {
  const tally = await readTally(db, run.runId, tellsMore);
  if (!run.options.release?.gates?.some((gate) => closesAtOnce(gate, tally))) return;
  await db.transaction().execute(async (tx) => {
    await closeIfTooMany(tx, run, await lockRelease(tx, run), tellsMore);
  });
}

async function readTally(db: Kysely<CampaignTables>, runId: string, tellsMore: boolean): Promise<GateTally> {
  const { rows } = await sql<{ contacts: number; tried: number }>`
    select ${contactsBegun(runId)} as contacts, coalesce((
      select sum(waiting.tried) from shards s cross join lateral (
        select count(*) as tried from recipients r
        where r.run_id = s.run_id and r.channel = s.channel and r.shard = s.shard and r.state = 'waiting' and r.waits
          and r.retry_at is not null and r.attempt > 0
      ) waiting where s.run_id = ${runId}), 0)::int as tried`.execute(db);
  const { contacts = 0, tried = 0 } = rows[0] ?? {};
  return gateTally(await readCounts(db, runId), { contacts, tried, tellsMore });
}

async function noteJudged(
  tx: Transaction<CampaignTables>,
  runId: string,
  { stage, now }: ReleaseStanding,
  results: readonly GateResult[],
): Promise<void> {
  const judged: Judged[] = results.map((result) => ({ stage, at: now.toISOString(), ...result }));
  await sql`
    update run_stages set judged = judged || ${JSON.stringify(judged)}::jsonb
    where run_id = ${runId} and stage = ${stage}`.execute(tx);
}

async function close(
  tx: Transaction<CampaignTables>,
  { runId, options }: Run,
  { gate, result }: { gate: Gate; result: GateResult },
): Promise<void> {
  const { metric, value, sample } = result;
  const control = options.release?.onGate === 'cancel' ? 'cancel' : 'pause';
  const reason: OwnReason = { code: 'gate', metric, value, above: gate.above, sample };
  await pauseItself(tx, runId, reason, control);
  await sql`update run_releases set closed_at = clock_timestamp() where run_id = ${runId}`.execute(tx);
  if (control === 'cancel' || !hasOccurrencesAtOnce(options)) return;
  await pauseOthers(tx, runId, reason);
  await showPaused(tx, runId);
}

/** Occurrences that go on beside it are paused with it, because the service holds a campaign's messages, not a run's. */
async function pauseOthers(tx: Transaction<CampaignTables>, runId: string, reason: OwnReason): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select o.id from runs r join runs o on o.campaign_id = r.campaign_id and o.workspace_id = r.workspace_id
    where r.id = ${runId} and o.id <> r.id and o.control = 'run' and o.phase in ('planning', 'running', 'finishing')
    order by o.id for update of o`.execute(tx);
  for (const { id } of rows) await pauseItself(tx, id, reason);
}
