import { LIMITS } from '../../../../src/domain/limits';
import { AnswerDeadlines } from '../../../../src/messaging/outbox/deliver/answer-deadlines';

const TIMEOUT_MS = LIMITS.handoverTimeoutSeconds * 1_000;

describe('deadlines of answers', () => {
  let deadlines: AnswerDeadlines;
  beforeEach(() => {
    jest.useFakeTimers();
    deadlines = new AnswerDeadlines();
  });
  afterEach(() => jest.useRealTimers());

  test('each hand-over is given up after its own time, and not with those that began before', async () => {
    const ended: string[] = [];
    const begin = (name: string) =>
      void deadlines.within(never()).catch((error: Error) => ended.push(`${name}: ${error.message}`));
    begin('first');
    await jest.advanceTimersByTimeAsync(1_000);
    begin('second');
    await jest.advanceTimersByTimeAsync(TIMEOUT_MS - 1_001);
    expect(ended).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(ended).toEqual([`first: No answer within ${TIMEOUT_MS} ms`]);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(ended).toHaveLength(2);
  });

  test('one that begins long after all others were answered has its whole time too', async () => {
    await expect(deadlines.within(Promise.resolve('taken'))).resolves.toBe('taken');
    await expect(deadlines.within(Promise.reject(new Error('refused')))).rejects.toThrow('refused');
    await jest.advanceTimersByTimeAsync(TIMEOUT_MS * 3);
    const late = jest.fn();
    void deadlines.within(never()).catch(late);
    await jest.advanceTimersByTimeAsync(TIMEOUT_MS - 1);
    expect(late).not.toHaveBeenCalled();
    await jest.advanceTimersByTimeAsync(1);
    expect(late).toHaveBeenCalledTimes(1);
  });
});

const never = () => new Promise<string>(() => undefined);
