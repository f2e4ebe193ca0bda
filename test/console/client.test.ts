/** Proves that reading is given up after its time, and that neither the end of a page nor a change is. */

import { call } from '../../console/src/api/client';
import { NoAnswer } from '../../console/src/api/problem';
import { reachability } from '../../console/src/api/reachability';

describe('a request of the console', () => {
  beforeEach(() => {
    jest.useFakeTimers();
    reachability.set(true);
    // A server that never answers, until it is no longer waited for.
    jest.spyOn(globalThis, 'fetch').mockImplementation(
      (_address, init) =>
        new Promise((_answer, fail) => {
          init?.signal?.addEventListener('abort', () => fail(new DOMException('Stopped', 'AbortError')));
        }),
    );
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  const outcomeOf = (asked: Promise<unknown>) => {
    const outcome: { is: unknown } = { is: 'waiting' };
    asked.then(
      () => Object.assign(outcome, { is: 'answered' }),
      (error) => Object.assign(outcome, { is: error }),
    );
    return outcome;
  };

  test('reading that gets no answer fails after a minute, and the server counts as away', async () => {
    const outcome = outcomeOf(call('GET', '/api/stop'));
    await jest.advanceTimersByTimeAsync(59_000);
    expect(outcome.is).toBe('waiting');
    await jest.advanceTimersByTimeAsync(1_000);
    expect(outcome.is).toBeInstanceOf(NoAnswer);
    expect(reachability.get()).toBe(false);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('an answer whose end never comes is not waited for either; a server that answers others is there', async () => {
    jest.spyOn(globalThis, 'fetch').mockImplementation(async (address, init) => {
      if (address === '/api/overview') return Response.json({});
      const body = new ReadableStream({
        start(stream) {
          stream.enqueue(new TextEncoder().encode('{"data":'));
          init?.signal?.addEventListener('abort', () => stream.error(new Error('aborted')));
        },
      });
      return new Response(body);
    });
    const outcome = outcomeOf(call('GET', '/api/stop'));
    await jest.advanceTimersByTimeAsync(30_000);
    await call('GET', '/api/overview');
    await jest.advanceTimersByTimeAsync(30_000);
    expect(outcome.is).toBeInstanceOf(NoAnswer);
    expect(reachability.get()).toBe(true);
  });

  test('a page that is left ends its reading, which says nothing of the server', async () => {
    const left = new AbortController();
    const outcome = outcomeOf(call('GET', '/api/stop', { signal: left.signal }));
    left.abort();
    await jest.advanceTimersByTimeAsync(0);
    expect((outcome.is as Error).name).toBe('AbortError');
    expect(reachability.get()).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('a change is not given up', async () => {
    const outcome = outcomeOf(call('POST', '/api/stop', { body: {} }));
    await jest.advanceTimersByTimeAsync(3_600_000);
    expect(outcome.is).toBe('waiting');
  });
});
