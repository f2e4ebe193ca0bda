import { RECIPIENT_STATES, type RecipientState } from '../../src/domain/recipient';
import {
  closesAtOnce,
  GATE_METRICS,
  type GateMetric,
  gateTally,
  isJudgedAtEnd,
  isJudgedWhileSent,
  judgeGate,
  stageSizes,
  waitsSeconds,
} from '../../src/domain/release';

const counts = (given: Partial<Record<RecipientState, number>>) => ({
  ...(Object.fromEntries(RECIPIENT_STATES.map((state) => [state, 0])) as Record<RecipientState, number>),
  ...given,
});
const tally = (given: Partial<Record<RecipientState, number>>, contacts = 100) =>
  gateTally({ email: counts(given) }, { contacts, tried: 0, tellsMore: true });

describe('sizes of stages', () => {
  test.each([
    ['numbers, and the rest', [{ recipients: 10 }, { recipients: 20 }], 100, [10, 20, 70]],
    ['percents of all, rounded up', [{ percent: 10 }, { percent: 10 }], 15, [2, 2, 11]],
    ['a percent that is not exact in binary', [{ percent: 7 }, { percent: 0.1 }], 1_000, [70, 1, 929]],
    ['nothing for the last stage', [{ percent: 50 }, { percent: 50 }], 3, [2, 1, 0]],
    [
      'stages beyond the audience are empty',
      [{ recipients: 8 }, { recipients: 8 }, { percent: 20 }],
      10,
      [8, 2, 0, 0],
    ],
    ['an empty audience', [{ recipients: 8 }, { percent: 20 }], 0, [0, 0, 0]],
    ['no percent', [{ percent: 0 }], 10, [0, 10]],
  ])('%s', (_, stages, contacts, expected) => {
    expect(stageSizes({ stages }, contacts)).toEqual(expected);
  });
});

describe('waits of stages', () => {
  const stages = [{ recipients: 5, waitSeconds: 60 }, { percent: 50 }, { recipients: 2, waitSeconds: 7 }];
  test.each([
    ['all that are followed by somebody to send to', 20, 67],
    ['none after the last stage that has contacts', 7, 60],
    ['none at all for a first stage that has all', 5, 0],
    ['none without an audience', 0, 0],
  ])('%s', (_, contacts, seconds) => {
    expect(waitsSeconds({ stages }, contacts)).toBe(seconds);
  });
});

describe('gates after a stage', () => {
  test.each(GATE_METRICS.filter((metric) => metric !== 'suppressed'))(
    '%s is a share of what was handed over, and closes above its bound only',
    (metric: GateMetric) => {
      const gate = { metric, above: 0.3, minSample: 10 };
      expect(judgeGate(gate, tally({ [metric]: 3, delivered: 7 }))).toEqual({
        ...{ metric, value: 0.3, sample: 10, passed: true },
      });
      expect(judgeGate(gate, tally({ [metric]: 4, sent: 6 })).passed).toBe(false);
      // Neither what waits nor what was never handed over is in the sample.
      expect(judgeGate(gate, tally({ [metric]: 4, sent: 5, waiting: 50, expired: 5, accepted: 3 }))).toEqual({
        ...{ metric, value: 4 / 9, sample: 9, passed: true },
      });
    },
  );

  test('suppressed is a share of the contacts of the stages begun', () => {
    const gate = { metric: 'suppressed' as const, above: 0.3, minSample: 10 };
    expect(judgeGate(gate, tally({ suppressed: 4, delivered: 6 }, 10))).toEqual({
      ...{ metric: 'suppressed', value: 0.4, sample: 10, passed: false },
    });
    expect(judgeGate(gate, tally({ suppressed: 4 }, 9)).passed).toBe(true);
  });

  test('an empty sample is a value of 0, and passes', () => {
    expect(judgeGate({ metric: 'failed', above: 0, minSample: 1 }, tally({}))).toEqual({
      ...{ metric: 'failed', value: 0, sample: 0, passed: true },
    });
  });

  test('sums channels, calls that are made, further attempts, and what a silent service accepted', () => {
    const both = { email: counts({ sent: 2, failed: 1 }), voice: counts({ sending: 3, undelivered: 1 }) };
    expect(gateTally(both, { contacts: 5, tried: 2, tellsMore: true })).toMatchObject({
      handedOver: 9,
      counts: { failed: 1, undelivered: 1 },
    });
    const silent = { sms: counts({ accepted: 4 }) };
    expect(gateTally(silent, { contacts: 4, tried: 0, tellsMore: false }).handedOver).toBe(4);
  });
});

describe('gates while a stage is being sent', () => {
  const gate = { metric: 'failed' as const, above: 0.1, minSample: 10 };

  test('close above the share of all contacts of the stages begun', () => {
    expect(closesAtOnce(gate, tally({ failed: 2 }, 20))).toBe(false);
    expect(closesAtOnce(gate, tally({ failed: 3 }, 20))).toBe(true);
  });

  test('stay open where all those contacts are too small a sample', () => {
    expect(closesAtOnce(gate, tally({ failed: 9 }, 9))).toBe(false);
  });
});

test('after a resume at a closed gate none is judged before the next stage’s end; the last stage never is', () => {
  const at = (stage: number, passedTo: number) => ({ stage, stages: 4, passedTo });
  const while_ = (passedTo: number) => [1, 2, 3, 4].map((stage) => isJudgedWhileSent(at(stage, passedTo)));
  const after = (passedTo: number) => [1, 2, 3, 4].map((stage) => isJudgedAtEnd(at(stage, passedTo)));
  expect([while_(0), after(0)]).toEqual([
    [true, true, true, false],
    [true, true, true, false],
  ]);
  expect([while_(1), after(1)]).toEqual([
    [false, false, true, false],
    [false, true, true, false],
  ]);
  expect([while_(2), after(2)]).toEqual([
    [false, false, false, false],
    [false, false, true, false],
  ]);
});
