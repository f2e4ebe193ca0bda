import { PHASES } from './campaign';
import { MESSAGE_STATES, RECEIPT_STATE } from './message';

/**
 * What an endpoint can ask to be told (api.md 10): a type, a family such as `message.*`, or `*`. Types are those
 * of the event feed behind `message.`, and the phases of a campaign behind `campaign.`.
 */
const FAMILIES = {
  message: [...new Set([...MESSAGE_STATES, ...Object.keys(RECEIPT_STATE)])],
  campaign: PHASES,
} as const;

const PATTERNS: ReadonlySet<string> = new Set([
  '*',
  ...Object.entries(FAMILIES).flatMap(([family, types]) => [
    `${family}.*`,
    ...types.map((type) => `${family}.${type}`),
  ]),
]);

export const isEventPattern = (pattern: string): boolean => PATTERNS.has(pattern);

/** Whether an event of this type is meant by one of the patterns. */
export function isWanted(patterns: readonly string[], type: string): boolean {
  const family = `${type.slice(0, type.indexOf('.'))}.*`;
  return patterns.some((pattern) => pattern === '*' || pattern === type || pattern === family);
}

/** Whether the event feed has to be read for these patterns. */
export const wantsMessages = (patterns: readonly string[]): boolean =>
  patterns.some((pattern) => pattern === '*' || pattern.startsWith('message.'));

/** Why an endpoint is told nothing: it answered 410, it failed for days, or its owner wanted so. */
export const DISABLED_REASONS = ['gone', 'failing', 'user'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** `pending` until it was taken, or tried as often as it may be. */
export const WEBHOOK_DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type WebhookDeliveryState = (typeof WEBHOOK_DELIVERY_STATES)[number];

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Before each attempt: ten of them in some 76 hours. */
const DELAYS_MS = [
  0,
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** So that what failed at one moment does not come back at one moment. */
const JITTER = 0.1;

/** How long to wait after so many failed attempts; undefined when there is no further one. `random` is from 0 to 1. */
export function webhookRetryMs(failedAttempts: number, random: number): number | undefined {
  const delayMs = DELAYS_MS[failedAttempts];
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 - JITTER + 2 * JITTER * random));
}
