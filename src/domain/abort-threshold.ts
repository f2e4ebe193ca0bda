import { CHANNELS, type Channel } from './channel';
import type { RecipientState } from './recipient';

/**
 * When a run stops itself because too many fail (api.md 7, `abort`). Two rates are held against
 * `failureRate`, each with at least `minSample` recipients:
 *
 * - of all that have been handed over or have ended, those that failed, were undelivered or were rejected;
 * - of all about whom the recipient's side has told, those that were undelivered.
 *
 * One rate alone would err: a refusal is known at once and a delivery only minutes later, so that among the
 * ends alone the first refusals of a large audience are nearly all there is; and with receipts that come late, all
 * that was handed over would hide for long that nothing arrives.
 */
export interface AbortRule {
  failureRate: number;
  minSample?: number | undefined;
}

/** Fewer say little: at a true rate of 5 %, 10 of 100 failures come about once in fifty times. */
const ABORT_SAMPLE_DEFAULT = 100;

/** Sums over a run's channels. What had been counted when a run stopped itself does not count again. */
export interface AbortTally {
  failed: number;
  settled: number;
  undelivered: number;
  told: number;
}

/** What had ended when a run stopped itself, or was first looked at after it went on, and in which launch. */
export interface AbortBaseline extends AbortTally {
  launch: number;
}

export function abortTally(
  counts: Partial<Record<Channel, Record<RecipientState, number>>>,
  /** Whether the service tells more than that it took a message. */
  tellsMore: boolean,
): AbortTally {
  const tally: AbortTally = { failed: 0, settled: 0, undelivered: 0, told: 0 };
  for (const channel of CHANNELS) {
    const of = counts[channel];
    if (!of) continue;
    const failed = of.failed + of.undelivered + of.rejected;
    // Whoever is canceled was never tried: another channel had reached them, for example.
    const passed = of.sent + of.delivered + of.suppressed + of.expired + of.unknown;
    tally.failed += failed;
    tally.settled += failed + passed + (tellsMore ? 0 : of.accepted);
    tally.undelivered += of.undelivered;
    tally.told += of.undelivered + of.delivered;
  }
  return tally;
}

/** The reason to stop, for the run's owner; undefined while there is none. */
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
