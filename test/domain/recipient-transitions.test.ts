/** Proves what a recipient becomes by each event. */

import fc from 'fast-check';
import { deliveryRule } from '../../src/domain/delivery-rule';
import { RECIPIENT_RANK, RECIPIENT_STATES } from '../../src/domain/recipient';
import { applyEvent, type RecipientEvent, type RecipientRow } from '../../src/domain/recipient-transitions';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const RULE = deliveryRule({
  delivery: { retry: { maxAttempts: 3, initialDelaySeconds: 10 }, onUnknown: 'resend' },
});

const accepted: RecipientRow = {
  state: 'accepted',
  code: null,
  attempt: 0,
  attempts: 1,
  dueAt: new Date(NOW),
  retryAt: null,
  doubts: [],
};

const news = (attempt: number, state: RecipientEvent['state'], code?: string): RecipientEvent => ({
  uid: `run.sms.0.${attempt}`,
  attempt,
  state,
  code,
});

describe('what a recipient becomes by an event', () => {
  test('is another attempt after a failure that passes, until there are none left', () => {
    const second = applyEvent(accepted, news(0, 'failed', 'provider_transient'), RULE, NOW);
    expect(second).toMatchObject({ state: 'waiting', attempt: 1, attempts: 1, code: 'provider_transient' });
    const third = applyEvent(second, news(1, 'failed', 'attempts_exhausted'), RULE, NOW);
    expect(third).toMatchObject({ state: 'waiting', attempt: 2, attempts: 2 });
    expect(applyEvent(third, news(2, 'failed', 'provider_transient'), RULE, NOW)).toMatchObject({
      state: 'failed',
      attempt: 2,
      attempts: 3,
      code: 'attempts_exhausted',
    });
  });

  test('is the end after a failure that does not pass, and where no retry was asked for', () => {
    expect(applyEvent(accepted, news(0, 'failed', 'provider_rejected'), RULE, NOW)).toMatchObject({
      state: 'failed',
      code: 'provider_rejected',
    });
    expect(applyEvent(accepted, news(0, 'undelivered', 'provider_transient'), RULE, NOW)).toMatchObject({
      state: 'undelivered',
    });
    expect(applyEvent(accepted, news(0, 'failed', 'provider_transient'), deliveryRule(), NOW)).toMatchObject({
      state: 'failed',
      attempt: 0,
    });
  });

  test('is delivered by a former attempt, and its retry is dropped', () => {
    const waiting = applyEvent(accepted, news(0, 'failed', 'provider_transient'), RULE, NOW);
    expect(applyEvent(waiting, news(0, 'delivered'), RULE, NOW)).toMatchObject({
      state: 'delivered',
      retryAt: null,
    });
  });

  test('is sent by a former attempt only where that was in doubt', () => {
    const failed = applyEvent(accepted, news(0, 'failed', 'provider_transient'), RULE, NOW);
    expect(applyEvent(failed, news(0, 'sent'), RULE, NOW)).toBe(failed);
    const doubt = applyEvent(accepted, news(0, 'unknown'), RULE, NOW);
    expect(doubt).toMatchObject({ state: 'waiting', attempt: 1, doubts: [0] });
    expect(applyEvent(doubt, news(0, 'sent'), RULE, NOW)).toMatchObject({ state: 'sent', retryAt: null });
  });

  test('is unknown, and not sent to again, where the new message never left and the former one is in doubt', () => {
    const waiting = applyEvent(accepted, news(0, 'unknown'), RULE, NOW);
    for (const state of ['canceled', 'expired', 'suppressed'] as const) {
      const end = applyEvent(waiting, news(1, state), RULE, NOW);
      expect(end).toMatchObject({ state: 'unknown', code: 'answer_lost', attempt: 1, retryAt: null });
      expect(applyEvent(end, news(1, state), RULE, NOW)).toBe(end);
      expect(applyEvent(accepted, news(0, state), RULE, NOW)).toMatchObject({ state });
    }
    expect(applyEvent(waiting, news(1, 'rejected', 'bad_number'), RULE, NOW)).toMatchObject({
      state: 'rejected',
    });
  });

  test('does not change by the failure of a former attempt, or of one that was never made', () => {
    const waiting = applyEvent(accepted, news(0, 'unknown'), RULE, NOW);
    expect(applyEvent(waiting, news(0, 'failed', 'provider_transient'), RULE, NOW)).toBe(waiting);
    expect(applyEvent(waiting, news(2, 'failed'), RULE, NOW)).toBe(waiting);
  });

  test('is expired when the retry would come too late, and still unknown when that of a doubt would', () => {
    const rule = deliveryRule({ delivery: { retry: {}, onUnknown: 'resend', expireAfterSeconds: 5 } });
    expect(applyEvent(accepted, news(0, 'failed', 'provider_transient'), rule, NOW).state).toBe('expired');
    expect(applyEvent(accepted, news(0, 'unknown'), rule, NOW).state).toBe('unknown');
  });

  test('is the same when an event is repeated at once, and never falls within an attempt', () => {
    const states = fc.constantFrom(
      ...RECIPIENT_STATES.filter((state) => RECIPIENT_RANK[state] > RECIPIENT_RANK.accepted),
    );
    const codes = fc.constantFrom(undefined, 'provider_transient', 'provider_rejected');
    const told = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), states, codes), { maxLength: 12 });
    fc.assert(
      fc.property(told, (all) => {
        let standing = accepted;
        for (const [attempt, state, code] of all) {
          const next = applyEvent(standing, news(attempt, state, code), RULE, NOW);
          expect(applyEvent(next, news(attempt, state, code), RULE, NOW)).toBe(next);
          if (next.attempt === standing.attempt) {
            expect(RECIPIENT_RANK[next.state]).toBeGreaterThanOrEqual(RECIPIENT_RANK[standing.state]);
          }
          expect(next.attempts).toBeLessThanOrEqual(3);
          expect(next.state === 'waiting').toBe(next.retryAt !== null);
          standing = next;
        }
      }),
    );
  });
});
