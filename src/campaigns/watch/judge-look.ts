import { LIMITS } from '../../domain/limits';
import type { RunFacts } from './run-looks';

export interface LookResult {
  wake: boolean;
  /** When the run is looked at again although nothing may have happened by then. */
  later?: { atMs: number; tries: number };
}

/** A shard that sleeps until its retries are due has woken by itself this long after. */
const OVERDUE_MS = 3_000;
const AGAIN_MS = 60_000;
/** A run that was told of a change of control has followed it by then. */
const CONTROL_AGAIN_MS = 2_000;
/** A stage is known to be sent this long after at the latest: its outcomes may come one by one. */
const STAGE_GATHER_MAX_MS = 10_000;
const AGAIN_MAX_MS = 30 * 60_000;

/**
 * Whether a run's workflow has to know what happened. It looks for itself then (activities/looks.ts), so that a run that
 * is woken in vain costs a few events of its history and no more; one that is not woken sleeps on.
 */
export function judgeLook(
  run: RunFacts,
  { tellsMore, lastWokenMs, nowMs }: { tellsMore: boolean; lastWokenMs: number | undefined; nowMs: number },
): LookResult {
  // Planning is awake by itself, and an ended run waits for nothing.
  if (run.phase !== 'running' && run.phase !== 'finishing') return { wake: false };
  if (run.control === 'fail' || run.control === 'cancel') return { wake: true };
  if (!run.isSending && (tellsMore ? run.open : run.unsent) === 0) return { wake: true };
  // Mostly the run was told and follows the change just now, so that the first look leaves it alone.
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
    // Each outcome may mean another contact's turn; they are gathered, because a look reads everyone who waits.
    return gathered(lastWokenMs, gather, nowMs);
  }
  if (!run.nextDue) return { wake: false };
  const overdueMs = run.nextDue.getTime() + OVERDUE_MS + gather;
  if (overdueMs > nowMs) return { wake: false, later: { atMs: overdueMs, tries: 0 } };
  // They may have to wait for an hour that is allowed, so that the same is found again, less and less often.
  return { wake: true, later: againLater(run, AGAIN_MS, nowMs) };
}

/** The run is woken no sooner than this after the last time. */
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
