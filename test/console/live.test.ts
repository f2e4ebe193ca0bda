/** Proves that a stream of events whose connection is swallowed is opened anew, and that waits leave nothing behind. */

import { follow } from '../../console/src/api/live';

describe('following a stream of events', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  test('a connection on which not even a heartbeat comes is given up and opened anew', async () => {
    const signals: AbortSignal[] = [];
    let heartbeat: () => void = () => undefined;
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (_address, init) => {
      const signal = init?.signal as AbortSignal;
      signals.push(signal);
      const body = new ReadableStream<Uint8Array>({
        start(stream) {
          heartbeat = () => stream.enqueue(new TextEncoder().encode(': still here\n\n'));
          signal.addEventListener('abort', () => stream.error(new Error('aborted')));
        },
      });
      return new Response(body);
    });
    const stop = new AbortController();
    const onBroken = jest.fn();
    const none = { headers: {}, onEvent: () => undefined, onEnd: () => undefined };
    const following = follow('/events', { ...none, onBroken, signal: stop.signal });
    for (let beats = 0; beats < 4; beats++) {
      await jest.advanceTimersByTimeAsync(15_000);
      heartbeat();
    }
    expect([signals.length, onBroken.mock.calls.length]).toEqual([1, 0]);
    await jest.advanceTimersByTimeAsync(47_000);
    expect([signals.length, onBroken.mock.calls.length]).toEqual([2, 1]);
    stop.abort();
    await following;
    expect(jest.getTimerCount()).toBe(0);
  });
});
