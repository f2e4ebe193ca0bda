import { type Kysely, sql } from 'kysely';
import {
  CALL_POLICY_DEFAULT,
  type CallPolicy,
  type CallProgress,
  type CallResult,
  callResult,
} from '../../domain/call-policy';
import type { CallTimes } from '../../domain/call-silence';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { CallEndings, CallReviver } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { loadRun, type RunOptions } from '../runs/runs';
import { readCallEnding } from './calls';

const INTERVAL_MS = 60_000;
/** A call's workflow is expected to be late by no more than this. */
const LATE_SECONDS = 30;
/** A call about which nothing was written for this long may have lost its workflow; one that has ended, its signal. */
const QUIET_SECONDS = 120;
/** A workflow that existed is looked up again after this time, in case the server was restored meanwhile. */
const ASK_AGAIN_MS = 60 * 60_000;
const STARTS_AT_ONCE = 8;

/**
 * Makes sure that every call under way has its workflow, because a Temporal server that was restored empty has
 * none. Temporal refuses the start of a workflow that exists, so that a call which is only late is left alone.
 * A new workflow continues from what the ledger knows: the calls that ended, and whether the service has
 * reported the latest one. If it has not, the new workflow asks the service for that call again under the same
 * uid, as a repeated activity would.
 *
 * A workflow that waits for the end of a call whose signal was lost, because a process was killed or Temporal was away,
 * is signalled again. By itself it would look after half as long as it has waited, half an hour at most.
 */
export function keepCallsLaunched(options: {
  db: Kysely<CampaignTables>;
  launcher: CallReviver;
  signals: CallEndings;
  callTimes: CallTimes;
  log: Log;
}): { stop(): Promise<void> } {
  const { db, launcher, signals, callTimes, log } = options;
  const calls = new LaunchedCalls(db, launcher, signals, callTimes);
  let looking: Promise<void> = Promise.resolve();
  let isStopped = false;
  const look = (): void => {
    looking = looking
      .then(() => (isStopped ? undefined : calls.look()))
      .catch((error: unknown) =>
        log.warn(
          { err: error },
          'could not check that calls under way have their workflows; trying again in a minute',
        ),
      );
  };
  look();
  const timer = setInterval(look, INTERVAL_MS);
  timer.unref();
  return {
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await looking;
    },
  };
}

/** A recipient whose call has a workflow, if none was lost. */
export interface OpenCall {
  runId: string;
  seq: number;
  /** The attempt that the workflow began with. */
  from: number;
  /** The latest attempt that was begun; 0 before the first. */
  attempt: number;
  state: string;
}

export class LaunchedCalls {
  /** When a call's workflow was last looked up, by call. The oldest comes first. */
  private readonly asked = new Map<string, number>();
  /** The last recipient of each run that was looked at. */
  private readonly seen = new Map<string, number>();

  constructor(
    private readonly db: Kysely<CampaignTables>,
    private readonly launcher: CallReviver,
    private readonly signals: CallEndings,
    private readonly callTimes: CallTimes,
  ) {}

  async look(): Promise<void> {
    this.forget();
    const runs = await this.runsWithCalls();
    for (const runId of this.seen.keys()) if (!runs.includes(runId)) this.seen.delete(runId);
    let left = LIMITS.callsRelaunched;
    for (const runId of runs) {
      if (left <= 0) return;
      const found = [...(await this.overdue(runId)), ...(await this.quiet(runId))];
      const lost = found.filter((call) => !this.asked.has(keyOf(call))).slice(0, left);
      left -= lost.length;
      if (lost.length) await this.revive(runId, lost);
    }
  }

  private forget(): void {
    const before = Date.now() - ASK_AGAIN_MS;
    for (const [key, at] of this.asked) {
      if (at > before && this.asked.size <= LIMITS.callsRemembered) return;
      this.asked.delete(key);
    }
  }

  private async revive(runId: string, lost: readonly OpenCall[]): Promise<void> {
    const policy = callPolicyOf((await loadRun(this.db, runId)).options, this.callTimes);
    await inParallel(lost, STARTS_AT_ONCE, async (call) => {
      const goOn = await progressOf(this.db, call, policy);
      await this.launcher.reviveCall({ runId, seq: call.seq, from: call.from, policy, goOn });
      await this.tellEnd(call);
      this.asked.set(keyOf(call), Date.now());
    });
  }

  private async tellEnd({ runId, seq, from, attempt, state }: OpenCall): Promise<void> {
    const ending = state === 'sending' && (await readCallEnding(this.db, { runId, seq, attempt }));
    if (ending) await this.signals.callEnded({ runId, seq, from, attempt, ...ending });
  }

  /** A paused run is left out, because its calls would only sleep; they are found when it is resumed. */
  private async runsWithCalls(): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select r.id from runs r
      where r.phase in ('planning', 'running', 'finishing') and r.control in ('run', 'cancel')
        and exists (select from shards where run_id = r.id and channel = 'voice')
      order by r.id`.execute(this.db);
    return rows.map(({ id }) => id);
  }

  /** Recipients whose next call is due, and whose workflow should have begun it. */
  private async overdue(runId: string): Promise<OpenCall[]> {
    const { rows } = await sql<OpenCall>`
      select run_id as "runId", seq, coalesce(call_from, 1) as "from", attempt, state from recipients
      where run_id = ${runId} and channel = 'voice' and state = 'waiting' and waits
        and (call_from is null or call_from <= attempt)
        and retry_at < now() - make_interval(secs => ${LATE_SECONDS})
      order by retry_at limit ${LIMITS.callsLookedAt}`.execute(this.db);
    return rows;
  }

  /**
   * Recipients who are being called, or are about to be, and about whom nothing was written for a while. No index
   * finds them, so that each look reads the next part of the run's recipients. Those in an open page are left to
   * the page, which starts their workflows itself.
   */
  private async quiet(runId: string): Promise<OpenCall[]> {
    const after = this.seen.get(runId) ?? -1;
    const { rows } = await sql<{ end: number | null; found: OpenCall[] }>`
      with part as materialized (
        select r.run_id, r.seq, r.shard, r.state, r.attempt, r.call_from from recipients r
        where r.run_id = ${runId} and r.channel = 'voice' and r.seq > ${after}
        order by r.seq limit ${LIMITS.callsLookedAt}
      ), quiet as (
        select p.run_id as "runId", p.seq, coalesce(p.call_from, 1) as "from", p.attempt, p.state
        from part p
        join shards s on s.run_id = p.run_id and s.channel = 'voice' and s.shard = p.shard and p.seq < s.next_seq
        left join calls c on c.run_id = p.run_id and c.seq = p.seq and c.attempt = p.attempt
        where p.state in ('pending', 'sending')
          and coalesce(c.ended_at, c.heard_at, c.placed_at, '-infinity')
            < now() - make_interval(secs => case when c.ended_at is null then ${QUIET_SECONDS}::int else ${LATE_SECONDS}::int end)
          and not exists (
            select from pages g where g.run_id = p.run_id and g.channel = 'voice' and g.shard = p.shard
              and (p.seq = any(g.seqs) or (g.seqs is null and p.seq >= g.from_seq + g.resolved and p.seq < g.to_seq)))
      )
      select (select max(seq) from part) as "end",
        coalesce((select jsonb_agg(quiet order by seq) from quiet), '[]') as found`.execute(this.db);
    const { end = null, found = [] } = rows[0] ?? {};
    if (end === null) this.seen.delete(runId);
    else this.seen.set(runId, end);
    return found;
  }
}

const keyOf = ({ runId, seq, from, attempt }: OpenCall): string => `${runId}.${seq}.${from}.${attempt}`;

/** What the workflow of a call would know by now. */
export async function progressOf(
  db: Kysely<CampaignTables>,
  { runId, seq, from, attempt, state }: OpenCall,
  policy: CallPolicy,
): Promise<CallProgress> {
  const { rows } = await sql<{ attempt: number; heard: boolean; ended: boolean }>`
    select attempt, heard_at is not null or ended_at is not null as heard, ended_at is not null as ended
    from calls where run_id = ${runId} and seq = ${seq} and attempt >= ${from}`.execute(db);
  const known = new Map(rows.map((row) => [row.attempt, row]));
  // A recipient waits for the next call when the end of the latest one was recorded.
  const isRecorded = state === 'waiting' && known.get(attempt)?.ended === true;
  const done = isRecorded ? attempt : attempt - 1;
  const calls: CallResult[] = [];
  for (let each = from; each <= done; each++) {
    const ending = await readCallEnding(db, { runId, seq, attempt: each });
    calls.push(callResult(ending ?? { end: 'unknown' }, policy.machine));
  }
  const next = from + calls.length;
  return { calls, placed: known.get(next)?.heard ?? false, canceled: false, endings: [] };
}

/** The call policy of a run, as its calls are started with. */
export function callPolicyOf({ voice }: RunOptions, { faultSeconds }: CallTimes): CallPolicy {
  const { retry, maxAttempts, machine } = { ...CALL_POLICY_DEFAULT, ...voice };
  return { retry, maxAttempts, machine, faultSeconds };
}
