import { LIMITS } from '../../domain/limits';
import type { RunFacts } from './run-facts';

export interface LookResult {
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
