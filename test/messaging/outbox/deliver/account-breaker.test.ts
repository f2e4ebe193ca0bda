import { LIMITS } from '../../../../src/domain/limits';
import { createLog } from '../../../../src/log';
import { AccountBreaker } from '../../../../src/messaging/outbox/deliver/account-breaker';
import type { HandOver, HandOverResult } from '../../../../src/providers/provider';

const BEGAN_MS = Date.parse('2026-11-22T12:00:00.000Z');
const taken: HandOverResult = { kind: 'accepted', providerId: 'p' };
const refused: HandOverResult = { kind: 'account', code: 'http_401', message: 'no' };
const nowhere: HandOverResult = { kind: 'account', code: 'http_404', message: 'no', orRecipient: true };

function message(id: string): HandOver {
  return { id, uid: id, channel: 'sms', to: '+12025550123', from: '12345', attempt: 1 };
}

describe('the breaker of a provider account', () => {
  let breaker: AccountBreaker;
  let told: boolean[];
  beforeEach(() => {
    jest.useFakeTimers({ now: BEGAN_MS });
    told = [];
    const observer = {
      moved: () => undefined,
      handedOver: () => undefined,
      receipts: () => undefined,
      lostIds: () => undefined,
      accountRefused: (_channel: string, _provider: string, isRefused: boolean) => void told.push(isRefused),
    };
    breaker = new AccountBreaker('sms', 'http', createLog('silent'), observer);
  });
  afterEach(() => jest.useRealTimers());

  /** Offers the messages now, and answers what each result came to. */
  function offer(answers: Record<string, HandOverResult>, tookMs = 10): HandOverResult['kind'][] {
    const startedMs = Date.now();
    jest.setSystemTime(startedMs + tookMs);
    const results = breaker.onResults(Object.keys(answers).map(message), Object.values(answers), startedMs);
    return results.map(({ kind }) => kind);
  }

  const pauseMs = () => breaker.pausedUntilMs - Date.now();

  test('single probes follow a refusal, each after a longer wait, within 30 s at first and 5 minutes at last', () => {
    offer({ a: refused, b: refused, c: refused });
    const waits = [pauseMs()];
    expect(breaker.isTrying).toBe(true);
    for (let i = 0; i < 14; i++) {
      jest.setSystemTime(breaker.pausedUntilMs);
      offer({ [`m${i}`]: refused });
      waits.push(pauseMs());
    }
    expect(waits[0]).toBeLessThanOrEqual(30_000);
    expect(waits.slice(1).every((wait, i) => wait >= (waits[i] as number))).toBe(true);
    expect(waits.at(-1)).toBe(LIMITS.accountPauseMaxMs);
    expect(told).toEqual([true]);
  });

  const lost: HandOverResult = { kind: 'unknown' };
  const unanswered = (count: number, from = 0) =>
    offer(Object.fromEntries(Array.from({ length: count }, (_, i) => [`u${from + i}`, lost])));

  test('a carrier that answers no message is paused like one that refuses us, until it answers', () => {
    // Those that were under way together may have met one broken connection.
    unanswered(100);
    expect(breaker.isTrying).toBe(false);
    expect(unanswered(1, 100)).toEqual(['unknown']);
    expect(breaker.state).toMatchObject({ state: 'paused', reason: 'no_answer' });
    const waits = [pauseMs()];
    for (let i = 0; i < 14; i++) {
      jest.setSystemTime(breaker.pausedUntilMs);
      unanswered(1, 200 + i);
      waits.push(pauseMs());
    }
    expect(waits[0]).toBe(LIMITS.accountPauseMs);
    expect(waits.at(-1)).toBe(LIMITS.accountPauseMaxMs);
    jest.setSystemTime(breaker.pausedUntilMs);
    offer({ later: { kind: 'transient', code: 'http_503' } });
    expect(breaker.state).toMatchObject({ state: 'ok' });
    expect(told).toEqual([true, false]);
  });

  test('messages in doubt among others that are answered pause nothing', () => {
    for (let i = 0; i < 100; i++) {
      unanswered(10, 10 * i);
      offer({ [`t${i}`]: i % 2 ? taken : { kind: 'rejected', code: 'no_such_number', message: 'no' } });
    }
    expect(breaker.isTrying).toBe(false);
  });

  test('batches that were refused together are one refusal', () => {
    const startedMs = Date.now();
    for (const id of ['a', 'b', 'c', 'd']) breaker.onResults([message(id)], [refused], startedMs);
    expect(pauseMs()).toBe(LIMITS.accountPauseMs);
  });

  test('a message that is taken ends the pause', () => {
    offer({ a: refused });
    jest.setSystemTime(breaker.pausedUntilMs);
    expect(offer({ b: taken })).toEqual(['accepted']);
    expect([breaker.isTrying, breaker.pausedUntilMs, breaker.state.state]).toEqual([false, 0, 'ok']);
    expect(told).toEqual([true, false]);
  });

  test('an answer that was under way when the refusals began does not end the pause', () => {
    const startedMs = Date.now();
    jest.setSystemTime(startedMs + 50);
    breaker.onResults([message('a')], [refused], startedMs);
    breaker.onResults([message('b')], [taken], startedMs);
    expect(breaker.isTrying).toBe(true);
  });

  test('a message that alone is refused so pauses nobody, and is not tried before the others again', () => {
    const results = breaker.onResults([message('a'), message('b')], [refused, taken], Date.now());
    expect(results[0]).toMatchObject({ kind: 'account', retryAfterMs: LIMITS.accountAloneMs });
    expect(breaker.pausedUntilMs).toBe(0);
    jest.advanceTimersByTime(1);
    offer({ c: taken });
    expect([breaker.isTrying, told]).toEqual([false, []]);
  });

  test('while few messages were refused, others do not wait long for the next try', () => {
    for (let i = 0; i < 20; i++) {
      offer({ a: refused });
      jest.setSystemTime(breaker.pausedUntilMs);
    }
    offer({ a: refused });
    expect(pauseMs()).toBeLessThanOrEqual(30_000);
  });

  describe('an answer that may be about the recipient', () => {
    test('is permanent at the second time, when another message was taken since', () => {
      expect(offer({ a: nowhere, b: taken })).toEqual(['account', 'accepted']);
      jest.advanceTimersByTime(LIMITS.accountAloneMs);
      expect(offer({ a: nowhere })).toEqual(['rejected']);
      expect(told).toEqual([]);
    });

    test('is about the account when nothing else was taken', () => {
      for (let i = 0; i < 3; i++) {
        expect(offer({ a: nowhere })).toEqual(['account']);
        jest.setSystemTime(breaker.pausedUntilMs);
      }
      expect(offer({ b: taken })).toEqual(['accepted']);
      expect(offer({ a: nowhere })).toEqual(['rejected']);
    });

    test('spends nobody when the address becomes wrong for all in the middle of a campaign', () => {
      offer({ a: taken, b: taken });
      expect(offer({ c: taken, d: nowhere })).toEqual(['accepted', 'account']);
      for (const id of ['e', 'f']) expect(offer({ [id]: nowhere })).toEqual(['account']);
      expect(breaker.isTrying).toBe(true);
      for (let i = 0; i < 3; i++) {
        jest.setSystemTime(breaker.pausedUntilMs);
        expect(offer({ d: nowhere })).toEqual(['account']);
      }
      offer({ f: taken });
      expect(offer({ d: taken, e: taken })).toEqual(['accepted', 'accepted']);
    });

    /** Offers them together, and answers each by itself, in the order of `answers`. */
    const offerEach = (answers: Record<string, HandOverResult>) => {
      const startedMs = Date.now();
      return Object.entries(answers).map(([id, result]) => {
        jest.advanceTimersByTime(1);
        return breaker.onResults([message(id)], [result], startedMs)[0];
      });
    };

    test('pauses nothing while messages beside it are taken, each answered by itself', () => {
      for (let i = 0; i < 5; i++) {
        const [, refusal] = offerEach({ [`t${i}`]: taken, [`n${i}`]: nowhere, [`u${i}`]: taken });
        expect(refusal).toMatchObject({ kind: 'account', retryAfterMs: LIMITS.accountAloneMs });
        expect(breaker.isTrying).toBe(false);
      }
      expect(offerEach({ n0: nowhere })).toMatchObject([{ kind: 'rejected' }]);
      expect(told).toEqual([]);
    });

    test('that comes before its neighbours are taken pauses for no longer than until then', () => {
      offerEach({ a: nowhere });
      expect(breaker.isTrying).toBe(true);
      jest.setSystemTime(breaker.pausedUntilMs);
      offerEach({ b: nowhere, c: nowhere, d: taken });
      expect([breaker.isTrying, breaker.pausedUntilMs]).toEqual([false, 0]);
    });

    test('that three get one after the other pauses, also where others were taken a moment before', () => {
      offerEach({ a: taken });
      const refusals = ['b', 'c', 'd'].map((id) => {
        offerEach({ [id]: nowhere });
        return breaker.isTrying;
      });
      expect(refusals).toEqual([false, false, true]);
    });
  });
});
