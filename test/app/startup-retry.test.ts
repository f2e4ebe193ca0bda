/** Proves that a start waits for what is temporarily out of reach, and fails at once for anything else. */

import { withStartupRetry } from '../../src/app/startup-retry';
import { createLog } from '../../src/log';
import { StartupError } from '../../src/startup-error';

const options = { log: createLog('silent'), signal: new AbortController().signal };
const outOfReach = () => new StartupError('away', 'wait', { mayPass: true });

describe('what a starting process needs and cannot reach', () => {
  test('is tried again until it is there', async () => {
    const answers = [outOfReach(), outOfReach()];
    const open = async () => {
      const error = answers.pop();
      if (error) throw error;
      return 'open';
    };
    expect(await withStartupRetry(open, options, 10_000)).toBe('open');
  });

  test('is an error when the time is over, and at once when it is wrong', async () => {
    let tries = 0;
    const failing = (error: Error) => async () => {
      tries += 1;
      throw error;
    };
    await expect(withStartupRetry(failing(outOfReach()), options, 0)).rejects.toThrow('away');
    await expect(
      withStartupRetry(failing(new StartupError('wrong', 'mend it')), options, 10_000),
    ).rejects.toThrow('wrong');
    expect(tries).toBe(2);
  });

  test('is waited for no longer once the process is to stop', async () => {
    const stop = new AbortController();
    const open = async () => {
      stop.abort();
      throw outOfReach();
    };
    await expect(withStartupRetry(open, { ...options, signal: stop.signal }, 10_000)).rejects.toThrow(
      'aborted',
    );
  });
});
