import { createLog } from '../../../../src/log';
import { createProviderLimiter } from '../../../../src/messaging/outbox/deliver/provider-limiter';
import { throttledSenders } from '../../../../src/messaging/outbox/deliver/throttling';
import type { HandOver, HandOverResult } from '../../../../src/providers/provider';
import { ScriptedProvider } from '../../scripted-provider';

const from = (sender: string): HandOver => ({
  id: 'msg_1',
  uid: 'u',
  channel: 'email',
  to: 'ann@example.com',
  from: sender,
  attempt: 1,
});
const away: HandOverResult = { kind: 'throttled', retryAfterMs: 5_000 };

test('batches shrink while answers are slow, down to what the provider works on at once', async () => {
  jest.useFakeTimers();
  try {
    const provider = new ScriptedProvider('email', { parallel: 30 });
    const limiter = createProviderLimiter('email', provider, createLog('silent'));
    const handOver = (tookMs: number, result?: HandOverResult) => {
      provider.script = () => result ?? { kind: 'accepted', providerId: 'p' };
      const done = limiter.handOver(Array.from({ length: limiter.batchSize }, () => from('a')));
      jest.setSystemTime(Date.now() + tookMs);
      return done;
    };
    const sizes: number[] = [];
    for (let i = 0; i < 5; i++) {
      await handOver(1_000);
      sizes.push(limiter.batchSize);
    }
    expect(sizes).toEqual([50, 25, 12, 10, 10]);
    await handOver(1_000, { kind: 'account', code: 'bad_password', message: 'no' });
    expect(limiter.batchSize).toBe(1);
    for (let i = 0; i < 5; i++) await handOver(1_000);
    expect(limiter.batchSize).toBe(10);
    await handOver(10);
    expect(limiter.batchSize).toBe(20);
  } finally {
    jest.useRealTimers();
  }
});

test('requests that could not be made are in the log once a minute, with their number', async () => {
  jest.useFakeTimers();
  try {
    const lines: Record<string, unknown>[] = [];
    const log = createLog('silent');
    log.error = (told: object) => void lines.push({ ...told });
    const provider = new ScriptedProvider('sms', { answersEach: true });
    const fault = { name: 'TypeError', code: 'ERR_KEY' };
    provider.script = () => ({ kind: 'transient', code: 'request_not_made', fault });
    const limiter = createProviderLimiter('sms', provider, log, undefined, { id: 'acc_1' });
    const handOver = async () =>
      limiter.onResults([from('a')], [await limiter.handOverOne(from('a'), () => true)]);
    for (let i = 0; i < 5; i++) await handOver();
    expect(lines).toMatchObject([{ account: 'acc_1', channel: 'sms', fault, count: 1 }]);
    jest.advanceTimersByTime(60_000);
    await limiter.handOver([from('a')]);
    expect(lines.slice(1)).toMatchObject([{ fault, count: 5 }]);
  } finally {
    jest.useRealTimers();
  }
});

test.each<HandOverResult>([
  { kind: 'transient', code: 'ECONNREFUSED', unreached: true },
  { kind: 'transient', code: 'http_503' },
  { kind: 'unknown' },
])('a carrier in trouble (%j) has 200 messages at once for the next ten minutes', (trouble) => {
  jest.useFakeTimers();
  try {
    const provider = new ScriptedProvider('sms', { parallel: 400, batchMax: 400, answersEach: true });
    const limiter = createProviderLimiter('sms', provider, createLog('silent'));
    const taken: HandOverResult = { kind: 'accepted', providerId: 'p' };
    const record = (result: HandOverResult) => {
      limiter.onResults([from('a')], [result]);
      return limiter.batchSize;
    };
    expect([record(taken), record(taken), record(taken)]).toEqual([200, 400, 400]);
    expect([record(trouble), record(taken)]).toEqual([200, 200]);
    jest.advanceTimersByTime(10 * 60_000);
    expect(record(taken)).toBe(400);
    // What a message or its sender is refused for says nothing about the others.
    expect(record({ kind: 'rejected', code: 'no_such_number', message: 'no' })).toBe(400);
  } finally {
    jest.useRealTimers();
  }
});

test.each([true, false])(
  'a carrier that answers no message is tried with one at a time (each by itself: %s)',
  async (answersEach) => {
    jest.useFakeTimers();
    try {
      const provider = new ScriptedProvider('sms', { answersEach });
      provider.script = () => ({ kind: 'unknown' });
      const limiter = createProviderLimiter('sms', provider, createLog('silent'));
      for (let i = 0; i < 21; i++) {
        expect(limiter.pausedUntilMs).toBeLessThanOrEqual(Date.now());
        const one = { ...from('a'), id: `msg_${i}` };
        if (answersEach) await limiter.handOverOne(one, () => true);
        else await limiter.handOver([one]);
        jest.advanceTimersByTime(1);
        if (limiter.isTrying) break;
      }
      expect(limiter.pausedUntilMs).toBeGreaterThan(Date.now());
      expect(limiter.batchSize).toBe(1);
      expect(limiter.isDown(Date.now())).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  },
);

test('a carrier that throttles has half as many messages at once, and then 200 for ten minutes', () => {
  jest.useFakeTimers();
  try {
    const provider = new ScriptedProvider('sms', { parallel: 400, batchMax: 400, answersEach: true });
    const limiter = createProviderLimiter('sms', provider, createLog('silent'));
    const record = (result: HandOverResult) => limiter.onResults([from('a')], [result]);
    for (let i = 0; i < 3; i++) record({ kind: 'accepted', providerId: 'p' });
    record({ kind: 'throttled', retryAfterMs: 1_000 });
    expect([limiter.batchSize, limiter.isCareful]).toEqual([100, true]);
    for (let i = 0; i < 3; i++) record({ kind: 'accepted', providerId: 'p' });
    expect(limiter.batchSize).toBe(200);
  } finally {
    jest.useRealTimers();
  }
});

test('a sender most of whose messages were sent away is asked to be silent', () => {
  const messages = [from('a'), from('a'), from('b')];
  const results: HandOverResult[] = [away, away, { kind: 'accepted', providerId: '1' }];
  expect(throttledSenders(messages, results)).toEqual([{ sender: 'a', delayMs: 5_000, isAlone: false }]);
});

test('a message that waits for its own sake silences nobody', () => {
  const alone: HandOverResult = { ...away, scope: 'message' };
  expect(throttledSenders([from('a'), from('a')], [alone, alone])).toEqual([]);
});

test.each([
  [away, true],
  [{ ...away, scope: 'sender' } as const, false],
])('two senders sent away with %j pause everybody: %s', async (result, pauses) => {
  const provider = new ScriptedProvider('email');
  provider.script = () => result;
  const limiter = createProviderLimiter('email', provider, createLog('silent'));
  await limiter.handOver([from('a'), from('b')]);
  expect(limiter.pausedUntilMs > Date.now()).toBe(pauses);
});

test('a refused account is tried here too within minutes, should the process that tries for all be refused alone', async () => {
  jest.useFakeTimers();
  try {
    const provider = new ScriptedProvider('email', { parallel: 30 });
    provider.script = () => ({ kind: 'account', code: 'address_not_allowed', message: 'no' });
    const limiter = createProviderLimiter('email', provider, createLog('silent'));
    await limiter.handOver([from('a')]);
    let tries = 0;
    for (let seconds = 0; seconds < 910; seconds += 2) {
      jest.setSystemTime(Date.now() + 2_000);
      limiter.follow(true);
      if (limiter.pausedUntilMs > Date.now()) continue;
      tries += 1;
      await limiter.handOver([from('a')]);
    }
    expect(tries).toBe(3);
  } finally {
    jest.useRealTimers();
  }
});

test.each([false, true])(
  'an account among several that names a long time is left alone until then (answers each: %s)',
  async (answersEach) => {
    const provider = new ScriptedProvider('sms', { answersEach });
    provider.script = () => ({ kind: 'throttled', retryAfterMs: 600_000 });
    const limiter = createProviderLimiter('sms', provider, createLog('silent'), undefined, {
      sharesChannel: () => true,
    });
    const givenAtMs = Date.now();
    const result = answersEach
      ? await limiter.handOverOne(from('a'), () => true)
      : (await limiter.handOver([from('a')]))[0];
    limiter.onResults([from('a')], result ? [result] : []);
    expect(limiter.pausedUntilMs).toBeGreaterThanOrEqual(givenAtMs + 600_000);
    const sinceMs = limiter.stateSinceMs;
    await new Promise((done) => setTimeout(done, 20));
    expect(limiter.account.state).toBe('throttled');
    expect(limiter.stateSinceMs).toBe(sinceMs);
  },
);
