/** Proves when a contact’s next channel begins. */

import fc from 'fast-check';
import { CHANNELS } from '../../src/domain/channel';
import { type EarlierChannel, nextTurn, type Standing, standingOf } from '../../src/domain/fallback';
import { RECIPIENT_STATES } from '../../src/domain/recipient';

const AFTER_MS = 1_000;
const NOW_MS = 50_000;

const earlier = (...channels: [Standing, number?][]): EarlierChannel[] =>
  channels.map(([standing, agoMs = 0]) => ({ standing, sinceMs: NOW_MS - agoMs }));
const turn = (...channels: [Standing, number?][]) => nextTurn(earlier(...channels), AFTER_MS, NOW_MS);

describe('the next channel of a contact', () => {
  it.each<[string, ReturnType<typeof turn>, ReturnType<typeof turn>]>([
    ['begins at once without an earlier one', turn(), 'now'],
    ['begins at once after one that ended without success', turn(['over']), 'now'],
    ['waits while the one before tries', turn(['open', 99_000]), 'wait'],
    ['waits while the silence is short', turn(['counting', 999]), 'wait'],
    ['begins when the silence is long enough', turn(['counting', 1_000]), 'now'],
    ['never begins after a success', turn(['reached']), 'reached'],
    ['never begins after a late success of the first', turn(['reached'], ['over']), 'reached'],
    ['waits for the latest, however long the first is silent', turn(['counting', 9_000], ['open']), 'wait'],
  ])('%s', (_, found, expected) => {
    expect(found).toBe(expected);
  });

  test('depends on successes and on the latest channel only', () => {
    const channel = fc.record({
      standing: fc.constantFrom<Standing>('reached', 'over', 'counting', 'open'),
      sinceMs: fc.integer({ min: NOW_MS - 3 * AFTER_MS, max: NOW_MS }),
    });
    fc.assert(
      fc.property(fc.array(channel, { maxLength: 3 }), fc.nat(3 * AFTER_MS), (channels, waitedMs) => {
        const found = nextTurn(channels, AFTER_MS, NOW_MS);
        const isReached = channels.some(({ standing }) => standing === 'reached');
        expect(found === 'reached').toBe(isReached);
        if (!isReached) expect(nextTurn(channels.slice(-1), AFTER_MS, NOW_MS)).toBe(found);
        // Whose turn has come keeps it as time goes by.
        if (found === 'now') expect(nextTurn(channels, AFTER_MS, NOW_MS + waitedMs)).toBe('now');
      }),
    );
  });

  test('counts as reached what was delivered, and what was accepted by a service without outcomes', () => {
    for (const channel of CHANNELS) {
      const reached = (tellsMore: boolean) =>
        RECIPIENT_STATES.filter((state) => standingOf(channel, state, tellsMore) === 'reached');
      expect(reached(true)).toEqual(['delivered']);
      expect(reached(false)).toEqual(['accepted', 'sent', 'delivered']);
    }
  });
});
