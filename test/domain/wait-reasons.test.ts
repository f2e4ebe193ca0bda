/** Proves which reason of a wait is shown, and when the recipient continues. */

import { goesOnAt, toldWait, WAIT_REASONS, WAIT_WHYS, type Wait } from '../../src/domain/wait-reasons';

const at = (minutes: number) => new Date(Date.UTC(2026, 5, 1, 12, minutes));

describe('the reason why a recipient waits', () => {
  test('that a person must do something about comes first, in the order of the contract', () => {
    const order = ['stopped', 'paused', 'gate', 'stage', 'schedule', 'hold', 'quiet_hours'] as const;
    for (const [i, why] of order.entries()) {
      const waits = order.slice(i).map((one): Wait => ({ why: one, at: at(i) }));
      expect(toldWait([...waits].reverse())?.why).toBe(why);
    }
  });

  test.each([
    [
      'the latest end',
      [
        { why: 'cap', at: at(1) },
        { why: 'quiet_hours', at: at(3) },
        { why: 'retry', at: at(2) },
      ],
      'quiet_hours',
    ],
    ['an unknown end', [{ why: 'cap', at: at(9) }, { why: 'fallback' }], 'fallback'],
  ] as [string, Wait[], string][])('is otherwise the one with %s', (_title, waits, why) => {
    expect(toldWait(waits)?.why).toBe(why);
  });

  test('ends when the last of all reasons does, if all ends are known', () => {
    expect(
      goesOnAt([
        { why: 'schedule', at: at(1) },
        { why: 'quiet_hours', at: at(3) },
      ]),
    ).toEqual(at(3));
    expect(goesOnAt([{ why: 'paused' }, { why: 'quiet_hours', at: at(3) }])).toBeUndefined();
  });

  test.each(WAIT_WHYS)('%s has a whole sentence, with and without facts', (why) => {
    const { sentence } = WAIT_REASONS[why] as { sentence(facts: object): string };
    const facts = { attempt: 2, of: 3, code: 'busy', ahead: 2, channel: 'email', reason: 'a mistake' };
    for (const given of [{}, facts]) expect(sentence(given)).toMatch(/^[A-Z][^{}]*\.$/);
    expect(sentence({})).not.toMatch(/undefined|null/);
  });

  test.each([
    ['no_answer', 'The call before ended with “no answer”; attempt 2 of 3 follows.'],
    ['failed', 'The attempt before failed for the moment (ring_timeout); attempt 2 of 3 follows.'],
    [undefined, 'The attempt before failed for the moment (ring_timeout); attempt 2 of 3 follows.'],
  ])('a redial is explained by how the call ended: %s', (outcome, expected) => {
    const facts = { attempt: 2, of: 3, code: 'ring_timeout', outcome };
    expect(WAIT_REASONS.retry.sentence(facts)).toBe(expected);
  });

  test('no reason is shown where there is none', () => {
    expect(toldWait([])).toBeUndefined();
  });
});
