import type { CallEnd } from './message';
import type { RecipientState } from './recipient';

/**
 * What to do after a call has ended: a table by outcome (api.md 7, `voice`). Every `maxAttempts` counts
 * calls, the first included; an outcome without an entry is not redialled.
 */
export interface CallPolicy {
  retry: Partial<Record<RetriedOutcome, { maxAttempts: number; delaysSeconds: number[] }>>;
  /** Calls in all, whatever their outcomes. */
  maxAttempts: number;
  /** What reaching an answering machine is worth. */
  machine: 'speak' | 'hangup' | 'leave_message';
}

export type RetriedOutcome = 'busy' | 'no_answer' | 'machine' | 'failed';
export type CallOutcome =
  | 'human'
  | 'machine'
  | 'voicemail_left'
  | 'busy'
  | 'no_answer'
  | 'rejected'
  | 'failed'
  | 'canceled'
  | 'expired'
  | 'unknown';

export const CALL_POLICY_DEFAULT: CallPolicy = { retry: {}, maxAttempts: 3, machine: 'speak' };

/** What an ended call came to, from its last event and who was heard to answer. */
export function callOutcome(
  end: CallEnd | 'expired' | 'unknown',
  answeredBy: string | undefined,
  machine: CallPolicy['machine'],
): CallOutcome {
  if (end !== 'completed') return end;
  if (!answeredBy?.startsWith('machine')) return 'human';
  return machine === 'leave_message' ? 'voicemail_left' : 'machine';
}

export type CallStep =
  | { kind: 'redial'; afterSeconds: number }
  | { kind: 'end'; state: RecipientState; outcome: CallOutcome };

/** `outcomes` are those of all calls so far, the latest last. */
export function nextCallStep(policy: CallPolicy, outcomes: readonly CallOutcome[]): CallStep {
  const latest = outcomes.at(-1);
  if (latest === undefined) return { kind: 'redial', afterSeconds: 0 };
  const rule = policy.retry[latest as RetriedOutcome];
  const same = outcomes.filter((outcome) => outcome === latest).length;
  if (rule && same < rule.maxAttempts && outcomes.length < policy.maxAttempts) {
    const delays = rule.delaysSeconds;
    return { kind: 'redial', afterSeconds: delays[Math.min(same, delays.length) - 1] ?? 0 };
  }
  return { kind: 'end', state: endState(latest, policy.machine), outcome: latest };
}

/** The state of a recipient for whom this outcome is the last. */
export function endState(outcome: CallOutcome, machine: CallPolicy['machine']): RecipientState {
  switch (outcome) {
    case 'human':
    case 'voicemail_left':
      return 'delivered';
    case 'machine':
      return machine === 'hangup' ? 'undelivered' : 'delivered';
    case 'busy':
    case 'no_answer':
    case 'rejected':
      return 'undelivered';
    case 'failed':
      return 'failed';
    case 'canceled':
    case 'expired':
      return outcome;
    case 'unknown':
      return 'unknown';
  }
}
