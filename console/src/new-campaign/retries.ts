import type { CampaignDetail } from '../api/types.gen';
import type { Body } from './draft';

export const CALL_OUTCOMES = ['busy', 'no_answer', 'machine', 'failed'] as const;
export type CallOutcome = (typeof CALL_OUTCOMES)[number];
type Voice = NonNullable<Body['voice']>;
type Delivery = NonNullable<Body['delivery']>;

/** When something is tried again, as typed: empty is left to the API. */
export interface Retries {
  attempts: string;
  firstMinutes: string;
  factor: string;
  longestMinutes: string;
  onUnknown: '' | NonNullable<Delivery['onUnknown']>;
  expireMinutes: string;
  /** Calls to one person, whatever their outcomes. */
  calls: string;
  ringSeconds: string;
  machine: '' | NonNullable<Voice['machine']>;
  /** Calls with this outcome, the first included, and the waits between them in minutes, with commas. */
  outcomes: Record<CallOutcome, { calls: string; minutes: string }>;
}

const NO_OUTCOME = { calls: '', minutes: '' };

export const noRetries = (): Retries => ({
  attempts: '',
  firstMinutes: '',
  factor: '',
  longestMinutes: '',
  onUnknown: '',
  expireMinutes: '',
  calls: '',
  ringSeconds: '',
  machine: '',
  outcomes: { busy: NO_OUTCOME, no_answer: NO_OUTCOME, machine: NO_OUTCOME, failed: NO_OUTCOME },
});

export function retriesOf({ delivery, voice }: Pick<CampaignDetail, 'delivery' | 'voice'>): Retries {
  const { maxAttempts, initialDelaySeconds, backoff, maxDelaySeconds } = delivery?.retry ?? {};
  const outcomeOf = (outcome: CallOutcome) => {
    const rule = voice?.retry?.[outcome];
    if (!rule) return NO_OUTCOME;
    return { calls: textOf(rule.maxAttempts), minutes: (rule.delaysSeconds ?? []).map(minutesOf).join(', ') };
  };
  return {
    attempts: textOf(maxAttempts),
    firstMinutes: minutesOf(initialDelaySeconds),
    factor: textOf(backoff),
    longestMinutes: minutesOf(maxDelaySeconds),
    onUnknown: delivery?.onUnknown ?? '',
    expireMinutes: minutesOf(delivery?.expireAfterSeconds),
    calls: textOf(voice?.maxAttempts),
    ringSeconds: textOf(voice?.ringTimeoutSeconds),
    machine: voice?.machine ?? '',
    outcomes: {
      busy: outcomeOf('busy'),
      no_answer: outcomeOf('no_answer'),
      machine: outcomeOf('machine'),
      failed: outcomeOf('failed'),
    },
  };
}

/** The part of `delivery` that tells when a message is tried again. */
export function deliveryOfRetries(typed: Retries): Delivery {
  const retry = {
    ...number('maxAttempts', typed.attempts),
    ...number('initialDelaySeconds', typed.firstMinutes, 60),
    ...number('backoff', typed.factor),
    ...number('maxDelaySeconds', typed.longestMinutes, 60),
  };
  return {
    ...(Object.keys(retry).length > 0 ? { retry } : {}),
    ...(typed.onUnknown === '' ? {} : { onUnknown: typed.onUnknown }),
    ...number('expireAfterSeconds', typed.expireMinutes, 60),
  };
}

/** What is said about calls. `kept` is what an edited campaign has and the form has no field for. */
export function voiceOf(typed: Retries, kept: Body['voice']): Body['voice'] {
  const retry: Voice['retry'] = {};
  for (const outcome of CALL_OUTCOMES) {
    const { calls, minutes } = typed.outcomes[outcome];
    if (calls === '' && minutes === '') continue;
    const jitter = kept?.retry?.[outcome]?.jitter;
    const delaysSeconds = minutes
      .split(/[,;\s]+/)
      .filter(Boolean)
      .map((one) => Math.round(Number(one) * 60));
    retry[outcome] = {
      maxAttempts: Number(calls),
      ...(delaysSeconds.length > 0 ? { delaysSeconds } : {}),
      ...(jitter === undefined ? {} : { jitter }),
    };
  }
  const voice: Voice = {
    ...(kept?.callWindow ? { callWindow: kept.callWindow } : {}),
    ...(Object.keys(retry).length > 0 ? { retry } : {}),
    ...number('maxAttempts', typed.calls),
    ...number('ringTimeoutSeconds', typed.ringSeconds),
    ...(typed.machine === '' ? {} : { machine: typed.machine }),
  };
  return Object.keys(voice).length > 0 ? voice : undefined;
}

const textOf = (value: number | undefined) => (value === undefined ? '' : String(value));
const minutesOf = (seconds: number | undefined) => (seconds === undefined ? '' : String(seconds / 60));

function number<Name extends string>(name: Name, text: string, times = 1): { [key in Name]?: number } {
  if (text === '') return {};
  const value = Number(text) * times;
  return { [name]: times === 1 ? value : Math.round(value) } as { [key in Name]?: number };
}
