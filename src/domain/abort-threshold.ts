import { CHANNELS, type Channel } from './channel';
import type { RecipientState } from './recipient';

/**
 * When a run stops itself because too many messages fail (api.md 7, `abort`). Two rates are compared with
 * `failureRate`, each over at least `minSample` recipients:
 *
 * - of all that were handed over or have ended, those that failed, were undelivered or were rejected;
 * - of all whose delivery was reported either way, those that were undelivered.
 *
 * One rate alone would be wrong. A refusal is known at once and a delivery only minutes later, so that the
 * first ends of a large audience are nearly all refusals. And while receipts are late, the many messages handed
 * over would hide that nothing arrives.
 */
export interface AbortRule {
  failureRate: number;
  minSample?: number | undefined;
}

/** A smaller sample says little: at a true rate of 5 %, 10 failures in 100 come about once in fifty runs. */
const ABORT_SAMPLE_DEFAULT = 100;

/** Sums over a run's channels. Recipients counted when a run stopped itself are not counted again. */
export interface AbortTally {
  failed: number;
  settled: number;
  undelivered: number;
  told: number;
}

/**
 * The counts when a run stopped itself, or was first looked at after it was started again, and the launch they
 * belong to.
 */
export interface AbortBaseline extends AbortTally {
  launch: number;
}

export function abortTally(
  counts: Partial<Record<Channel, Record<RecipientState, number>>>,
  /** Whether the service reports more than that it accepted a message. */
  tellsMore: boolean,
): AbortTally {
  const tally: AbortTally = { failed: 0, settled: 0, undelivered: 0, told: 0 };
  for (const channel of CHANNELS) {
    const of = counts[channel];
    if (!of) continue;
    const failed = of.failed + of.undelivered + of.rejected;
    // Canceled recipients are left out, because they were never tried: another channel had reached them, for
    // example.
    const passed = of.sent + of.delivered + of.suppressed + of.expired + of.unknown;
    tally.failed += failed;
    tally.settled += failed + passed + (tellsMore ? 0 : of.accepted);
    tally.undelivered += of.undelivered;
    tally.told += of.undelivered + of.delivered;
  }
  return tally;
}

/**
 * The baseline as counts have fallen below it: recipients who are sent to again have failed no more, so that those who
 * fail anew count from here. Null where it holds as it is.
 */
export function loweredTo(tally: AbortTally, baseline: AbortBaseline): AbortBaseline | null {
  const fields = ['failed', 'settled', 'undelivered', 'told'] as const;
  if (fields.every((field) => tally[field] >= baseline[field])) return null;
  const lower = fields.map((field) => [field, Math.min(tally[field], baseline[field])] as const);
  return { ...baseline, ...Object.fromEntries(lower) };
}

/** The reason to stop, in words for the run's operator; undefined while there is none. */
export function abortReason(
  rule: AbortRule,
  tally: AbortTally,
  baseline: AbortTally | null,
): string | undefined {
  const least = rule.minSample ?? ABORT_SAMPLE_DEFAULT;
  const since = (field: keyof AbortTally) => Math.max(0, tally[field] - (baseline?.[field] ?? 0));
  for (const [bad, all] of [
    [since('failed'), since('settled')],
    [since('undelivered'), since('told')],
  ] as const) {
    if (all < least || bad / all < rule.failureRate) continue;
    return `abort_threshold: ${bad} of ${all} failed (${percent(bad / all)} %), the campaign stops at ${percent(rule.failureRate)} %`;
  }
  return undefined;
}

const percent = (share: number) => Math.round(share * 1000) / 10;
