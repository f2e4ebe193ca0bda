/** Proves when a run stops itself because too many messages fail. */

import { type AbortTally, abortReason, abortTally } from '../../src/domain/abort-threshold';
import { RECIPIENT_STATES, type RecipientState } from '../../src/domain/recipient';

const counts = (given: Partial<Record<RecipientState, number>>) =>
  ({ ...Object.fromEntries(RECIPIENT_STATES.map((state) => [state, 0])), ...given }) as Record<
    RecipientState,
    number
  >;

const tally = (given: Partial<Record<RecipientState, number>>, tellsMore = true): AbortTally =>
  abortTally({ sms: counts(given) }, tellsMore);

const RULE = { failureRate: 0.15, minSample: 200 };

describe('the threshold at which a run stops itself', () => {
  test('is reached by the share of all that have ended, not before there are enough', () => {
    expect(abortReason(RULE, tally({ rejected: 37, delivered: 162 }), null)).toBeUndefined();
    expect(abortReason(RULE, tally({ rejected: 37, delivered: 163 }), null)).toBe(
      'abort_threshold: 37 of 200 failed (18.5 %), the campaign stops at 15 %',
    );
    expect(abortReason(RULE, tally({ rejected: 29, delivered: 171 }), null)).toBeUndefined();
  });

  test('is not reached by refusals that are known before any delivery', () => {
    expect(abortReason(RULE, tally({ rejected: 200, sent: 9_800 }), null)).toBeUndefined();
  });

  test('is reached by receipts that say that nothing arrives, however much has been handed over', () => {
    expect(abortReason(RULE, tally({ sent: 50_000, undelivered: 150, delivered: 50 }), null)).toMatch(
      /150 of 200 failed/,
    );
  });

  test('counts as handed over what a service without outcomes accepted', () => {
    expect(abortReason(RULE, tally({ accepted: 5_000, rejected: 200 }, false), null)).toBeUndefined();
    expect(abortReason(RULE, tally({ accepted: 5_000, rejected: 200 }, true), null)).toBeDefined();
  });

  test('sums channels, and counts from the baseline of a run that stopped before', () => {
    const both = abortTally({ sms: counts({ failed: 100 }), email: counts({ delivered: 100 }) }, true);
    expect(both).toMatchObject({ failed: 100, settled: 200 });
    const more = abortTally({ sms: counts({ failed: 129 }), email: counts({ delivered: 271 }) }, true);
    expect(abortReason(RULE, more, null)).toBeDefined();
    expect(abortReason(RULE, more, both)).toBeUndefined();
  });
});
