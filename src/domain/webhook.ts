import { PHASES } from './campaign';
import { EVENT_TYPES } from './message';

/**
 * What an endpoint can subscribe to (api.md 10): a type, a family such as `message.*`, or `*`. Types are the
 * feed's event types after `message.`, and the phases of a campaign after `campaign.`.
 */
const FAMILIES = {
  message: EVENT_TYPES,
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

/** Whether one of the patterns matches an event of this type. */
export function isWanted(patterns: readonly string[], type: string): boolean {
  const family = `${type.slice(0, type.indexOf('.'))}.*`;
  return patterns.some((pattern) => pattern === '*' || pattern === type || pattern === family);
}

/** Whether these patterns need the event feed. */
export const wantsMessages = (patterns: readonly string[]): boolean =>
  patterns.some((pattern) => pattern === '*' || pattern.startsWith('message.'));

/** Why an endpoint was disabled: it answered 410, it failed for days, or its owner disabled it. */
export const DISABLED_REASONS = ['gone', 'failing', 'user'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** `pending` until the endpoint accepted it, or all attempts are used. */
export const WEBHOOK_DELIVERY_STATES = ['pending', 'delivered', 'failed'] as const;
export type WebhookDeliveryState = (typeof WEBHOOK_DELIVERY_STATES)[number];

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** The delay before each attempt: ten attempts in some 76 hours. */
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

/** Spreads retries, so that deliveries that failed together are not retried together. */
const JITTER = 0.1;

/**
 * How long to wait after this many failed attempts; undefined when there is no further attempt. `random` is
 * from 0 to 1.
 */
export function webhookRetryMs(failedAttempts: number, random: number): number | undefined {
  const delayMs = DELAYS_MS[failedAttempts];
  return delayMs === undefined ? undefined : Math.round(delayMs * (1 - JITTER + 2 * JITTER * random));
}
