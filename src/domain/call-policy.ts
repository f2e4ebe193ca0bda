import type { CallFault } from './call-codes';
import type { CallEnd } from './message';
import type { RecipientState } from './recipient';
import { fraction } from './retry-policy';
import type { MachineBehaviour } from './voice/answer-detection/machine-behaviour';

/**
 * How often a call that its carrier could not place is asked for again without counting, and after which first
 * delay. Each further delay is twice as long, up to eight times: three quarters of an hour in all. Workflows decide
 * by these, so that they are not in LIMITS (workflows/constants.ts).
 */
const CARRIER_FAULTS_MAX = 5;
const CARRIER_FAULT_SECONDS = 120;

/**
 * What to do after a call has ended: a table by outcome (api.md 7, `voice`). Every `maxAttempts` counts all
 * calls, including the first. An outcome without an entry is not redialled. After the last delay of a list,
 * that delay is repeated.
 */
export interface CallPolicy {
  retry: Partial<Record<RetriedOutcome, RedialRule>>;
  /** Most calls in total, whatever their outcomes. */
  maxAttempts: number;
  machine: MachineBehaviour;
  /** Delay before a call that its carrier could not place is asked for again. */
  faultSeconds?: number | undefined;
}

export interface RedialRule {
  maxAttempts: number;
  delaysSeconds: number[];
  /** The share by which a delay may be longer, so that recipients who were busy together are not called together. */
  jitter?: number | undefined;
}

export type RetriedOutcome = 'busy' | 'no_answer' | 'machine' | 'failed';

/** Outcomes that the service may report itself, because who answered does not say everything. */
export const REPORTED_OUTCOMES = ['human', 'machine', 'voicemail_left', 'opted_out'] as const;
export type ToldOutcome = (typeof REPORTED_OUTCOMES)[number];
export const CALL_OUTCOMES = [
  ...REPORTED_OUTCOMES,
  'busy',
  'no_answer',
  'rejected',
  'failed',
  'canceled',
  'suppressed',
  'expired',
  'unknown',
] as const;
export type CallOutcome = (typeof CALL_OUTCOMES)[number];

/**
 * How a call ended, according to the event feed. It enters workflow histories, so it has only our own words, no
 * carrier's text.
 */
export interface CallEnding {
  end: CallEnd | 'expired' | 'suppressed' | 'unknown';
  answeredBy?: string | undefined;
  told?: ToldOutcome | undefined;
  fault?: CallFault | undefined;
}

export interface CallResult {
  outcome: CallOutcome;
  fault?: CallFault | undefined;
}

/** How far the workflow of a call has come, for the execution that continues it. */
export interface CallProgress {
  /** The calls that ended. */
  calls: CallResult[];
  /** Whether the service has taken the call that follows `calls`. */
  placed: boolean;
  canceled: boolean;
  endings: [attempt: number, ending: CallEnding][];
}

export const CALL_POLICY_DEFAULT: CallPolicy = { retry: {}, maxAttempts: 3, machine: 'speak' };

/**
 * The outcome of an ended call. A reported outcome counts; otherwise it follows from the end and from who was
 * heard to answer.
 */
export function callResult(
  { end, answeredBy, told, fault }: CallEnding,
  machine: MachineBehaviour,
): CallResult {
  if (end === 'completed') return { outcome: told ?? outcomeBy(answeredBy, machine) };
  if (end === 'failed' && fault === 'carrier') return { outcome: 'failed', fault };
  if ((end === 'failed' || end === 'rejected') && fault === 'number') return { outcome: 'failed', fault };
  if ((end === 'failed' || end === 'rejected') && fault === 'unwanted') return { outcome: 'rejected', fault };
  return { outcome: end };
}

function outcomeBy(answeredBy: string | undefined, machine: MachineBehaviour): CallOutcome {
  if (answeredBy === 'fax') return 'machine';
  if (!answeredBy?.startsWith('machine')) return 'human';
  // A message can be left only after the machine's greeting has ended.
  return machine === 'leave_message' && answeredBy.startsWith('machine_end') ? 'voicemail_left' : 'machine';
}

export type CallStep =
  | { kind: 'redial'; afterSeconds: number }
  | { kind: 'end'; state: RecipientState; outcome: CallOutcome };

/**
 * Decides the next step. `calls` has all calls so far, the latest last. The same calls and the same `seed` give
 * the same step, because a replayed workflow decides again.
 */
export function nextCallStep(policy: CallPolicy, calls: readonly CallResult[], seed = ''): CallStep {
  const latest = calls.at(-1);
  if (latest === undefined) return { kind: 'redial', afterSeconds: 0 };
  const end = {
    kind: 'end' as const,
    state: endState(latest.outcome, policy.machine),
    outcome: latest.outcome,
  };
  if (latest.fault === 'carrier') {
    const faults = calls.filter(({ fault }) => fault === 'carrier').length;
    if (faults > CARRIER_FAULTS_MAX) return end;
    const first = policy.faultSeconds ?? CARRIER_FAULT_SECONDS;
    return { kind: 'redial', afterSeconds: first * 2 ** Math.min(faults - 1, 3) };
  }
  if (latest.fault) return end;
  const rule = policy.retry[latest.outcome as RetriedOutcome];
  if (!rule || callsLeft(policy, calls) < 1) return end;
  const same = counted(calls).filter(({ outcome }) => outcome === latest.outcome).length;
  const delays = rule.delaysSeconds;
  const delay = delays[Math.min(same, delays.length) - 1] ?? 0;
  return {
    kind: 'redial',
    afterSeconds: delay * (1 + (rule.jitter ?? 0) * fraction(`${seed}#${calls.length}`)),
  };
}

/**
 * How many calls may follow, all of which end as the latest did. A call that its carrier could not place leaves the
 * bound of its outcome aside.
 */
export function callsLeft(
  { retry, maxAttempts }: Pick<CallPolicy, 'retry' | 'maxAttempts'>,
  calls: readonly CallResult[],
): number {
  const latest = calls.at(-1);
  const left = maxAttempts - counted(calls).length;
  if (latest === undefined || latest.fault === 'carrier') return left;
  const same = counted(calls).filter(({ outcome }) => outcome === latest.outcome).length;
  const most = retry[latest.outcome as RetriedOutcome]?.maxAttempts ?? 0;
  return Math.max(0, Math.min(left, most - same));
}

const counted = (calls: readonly CallResult[]) => calls.filter(({ fault }) => fault !== 'carrier');

/** The state of a recipient whose last call had this outcome. */
export function endState(outcome: CallOutcome, machine: MachineBehaviour): RecipientState {
  switch (outcome) {
    case 'human':
    case 'voicemail_left':
    case 'opted_out':
      return 'delivered';
    case 'machine':
      // If no message was left although one should have been, the recipient got nothing.
      return machine === 'speak' ? 'delivered' : 'undelivered';
    case 'busy':
    case 'no_answer':
    case 'rejected':
      return 'undelivered';
    case 'failed':
      return 'failed';
    case 'canceled':
    case 'suppressed':
    case 'expired':
      return outcome;
    case 'unknown':
      return 'unknown';
  }
}
