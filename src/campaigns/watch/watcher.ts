import type { Kysely } from 'kysely';
import { databaseNow } from '../../domain/database-clock';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import { newId } from '../../storage/new-id';
import type { EventSource, RunWaker } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import type { StopsFollowed } from '../stops/follow-stops';
import type { Feeds } from './feeds';
import { endWatch, type RunFacts, readLooks, type SeenLooks } from './run-facts';

export interface WatcherParts {
  waker: RunWaker;
  source: EventSource;
  log: Log;
  /** Ticks every second too, and stops with the watcher. */
  feeds: Pick<Feeds, 'tick' | 'stop'>;
  /** The same for stopped workspaces, in the process that watches runs. */
  stops: StopsFollowed;
}

export interface Watcher {
  /** Releases the watch, so that another process continues within a second. */
  stop(): Promise<void>;
}

const TICK_MS = 1_000;
const WAKES_AT_ONCE = 8;

/**
 * Wakes the workflows of runs that wait for a change in the database: an outcome, a retry, the next channel, a
 * failure. Of all processes with the orchestrator's role one watches at a time, by one statement a second. A
 * waiting run holds nothing: no worker's slot, no connection, no poll and no heartbeat. If the process is
 * killed, its looks stay in the table, and another process continues when the watch has expired (decision 26).
 */
export function startWatcher(db: Kysely<CampaignTables>, parts: WatcherParts): Watcher {
  const stopping = new AbortController();
  const watching = watch(db, parts, stopping.signal);
  return {
    async stop() {
      stopping.abort();
      await watching;
    },
  };
}

async function watch(db: Kysely<CampaignTables>, parts: WatcherParts, stopping: AbortSignal): Promise<void> {
  const { log, feeds } = parts;
  const owner = newId('wat');
  const looks = new RunLooks(db, owner, parts);
  let isFailing = false;
  while (!stopping.aborted) {
    const nextMs = Date.now() + TICK_MS;
    try {
      await Promise.all([looks.take(), feeds.tick()]);
      isFailing = false;
    } catch (error) {
      if (!isFailing)
        log.warn({ err: error }, 'could not read the changes that runs wait for; trying again every second');
      isFailing = true;
    }
    await pause(nextMs - Date.now(), stopping);
  }
  // If the watch cannot be released, the next process waits until it has expired.
  await looks.end().catch(() => undefined);
  await Promise.all([feeds.stop(), parts.stops.stop()]);
}

class RunLooks {
  private seen: SeenLooks = { handled: [], later: [] };
  /** When runs were woken last; old entries are deleted. */
  private readonly woken = new Map<string, number>();

  constructor(
    private readonly db: Kysely<CampaignTables>,
    private readonly owner: string,
    private readonly parts: WatcherParts,
  ) {}

  /** Does nothing when another process watches. */
  async take(): Promise<void> {
    const { seen } = this;
    const found = await readLooks(this.db, this.owner, seen);
    // Only the looks that the statement has deleted: a repeated look is harmless, a lost one is not.
    this.seen = { handled: [], later: [] };
    if (!found) return;
    await this.parts.stops.tick();
    const failures: unknown[] = [];
    const results = await inParallel(found, WAKES_AT_ONCE, (run) =>
      this.see(run).catch((error: unknown) => void failures.push(error)),
    );
    const handled = found.flatMap((run, i) => (results[i] ? run.ids : []));
    this.seen = { handled, later: results.flatMap((result) => result?.later ?? []) };
    this.forget();
    // The rows of runs that could not be woken are still there.
    if (failures.length) throw failures[0];
  }

  end(): Promise<void> {
    return endWatch(this.db, this.owner, this.seen);
  }

  private async see(run: RunFacts): Promise<{ later: SeenLooks['later'] }> {
    const { waker } = this.parts;
    const nowMs = databaseNow();
    const mayBeSettled = (!run.isSending && run.unsent === 0 && run.open > 0) || run.stage === 'sending';
    const tellsMore = !mayBeSettled || (await this.hasFeed(run.workspaceId));
    const result = classifyLook(run, { tellsMore, lastWokenMs: this.woken.get(run.runId), nowMs });
    if (result.wake) {
      await waker.wakeRun(run);
      this.woken.set(run.runId, nowMs);
    }
    const { later } = result;
    return { later: later ? [{ runId: run.runId, at: new Date(later.atMs), tries: later.tries }] : [] };
  }

  /** True also while the service does not answer; the next look asks again. */
  private async hasFeed(workspaceId: string): Promise<boolean> {
    const feed = await this.parts.source.feedOf(workspaceId).catch(() => 'unknown');
    return feed !== undefined;
  }

  private forget(): void {
    const before = databaseNow() - LIMITS.gatherMaxMs;
    for (const [runId, at] of this.woken) if (at < before) this.woken.delete(runId);
  }
}

function pause(ms: number, stopping: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      clearTimeout(timer);
      stopping.removeEventListener('abort', end);
      done();
    };
    const timer = setTimeout(end, stopping.aborted ? 0 : Math.max(0, ms));
    stopping.addEventListener('abort', end);
  });
}

interface LookResult {
  wake: boolean;
  /** When to look at the run again, even if nothing happens before. */
  later?: { atMs: number; tries: number };
}

/** A shard that sleeps until its retries are due has woken by itself after this time. */
const OVERDUE_MS = 3_000;
const AGAIN_MS = 60_000;
/** A run that was signalled about its control has followed it after this time. */
const CONTROL_AGAIN_MS = 2_000;
/** A sent stage is noticed after this time at the latest, because its outcomes may come one by one. */
const STAGE_GATHER_MAX_MS = 10_000;
const AGAIN_MAX_MS = 30 * 60_000;

/**
 * Whether a run's workflow must be woken. The workflow then looks for itself (activities/run-checks.ts). A needless
 * wake costs a few events of its history; a missed one lets the run sleep on.
 */
export function classifyLook(
  run: RunFacts,
  { tellsMore, lastWokenMs, nowMs }: { tellsMore: boolean; lastWokenMs: number | undefined; nowMs: number },
): LookResult {
  // A planning run is awake by itself, and an ended run waits for nothing.
  if (run.phase !== 'running' && run.phase !== 'finishing') return { wake: false };
  if (run.control === 'fail' || run.control === 'cancel') return { wake: true };
  if (!run.isSending && (tellsMore ? run.open : run.unsent) === 0) return { wake: true };
  // Usually the run was signalled and follows the change just now, so the first look only schedules a second
  // one.
  if (!run.isControlApplied) return { wake: run.tries > 0, later: againLater(run, CONTROL_AGAIN_MS, nowMs) };
  if (run.control !== 'run') return { wake: false };
  if (run.stage === 'due') return { wake: true };
  const gather = gatherFor(run, nowMs);
  const mayBeSent = run.stage === 'sending' && !(tellsMore && run.open > run.unsent);
  if (mayBeSent) return gathered(lastWokenMs, Math.min(gather, STAGE_GATHER_MAX_MS), nowMs);
  if (run.phase === 'running' && !run.isSending && run.waiting === 0 && !run.hasLaterStage)
    return { wake: true };
  if (run.waiting === 0) return { wake: false };
  if (run.isFallback) {
    // Each outcome may open another contact's next channel. Outcomes are gathered, because a look reads every
    // waiting recipient.
    return gathered(lastWokenMs, gather, nowMs);
  }
  if (!run.nextDue) return { wake: false };
  const overdueMs = run.nextDue.getTime() + OVERDUE_MS + gather;
  if (overdueMs > nowMs) return { wake: false, later: { atMs: overdueMs, tries: 0 } };
  // The recipients may be waiting for a permitted hour, so look at growing intervals.
  return { wake: true, later: againLater(run, AGAIN_MS, nowMs) };
}

/** Wakes the run no sooner than this interval after the last wake. */
function gathered(lastWokenMs: number | undefined, gatherMs: number, nowMs: number): LookResult {
  const soonestMs = (lastWokenMs ?? Number.NEGATIVE_INFINITY) + Math.max(LIMITS.turnLookMs, gatherMs);
  return soonestMs <= nowMs ? { wake: true } : { wake: false, later: { atMs: soonestMs, tries: 0 } };
}

function againLater({ tries }: RunFacts, firstMs: number, nowMs: number): { atMs: number; tries: number } {
  const againMs = Math.min(AGAIN_MAX_MS, firstMs * 2 ** Math.min(tries, 10));
  return { atMs: nowMs + againMs, tries: tries + 1 };
}

function gatherFor({ startedAt }: RunFacts, nowMs: number): number {
  return Math.min(LIMITS.gatherMaxMs, LIMITS.gatherShare * Math.max(0, nowMs - startedAt.getTime()));
}
