import { LIMITS } from '../src/domain/limits';
import { Foreground } from '../src/foreground';

/** Work that lets the requests of its process pass. */
describe('the foreground of a process', () => {
  let nowMs: number;
  let foreground: Foreground;
  beforeEach(() => {
    nowMs = 1_000;
    foreground = new Foreground(() => nowMs);
  });
  const passes = async (): Promise<boolean> => {
    let isOver = false;
    void foreground.pass().then(() => {
      isOver = true;
    });
    await new Promise((done) => setTimeout(done, 3 * LIMITS.foregroundLookMs));
    return isOver;
  };

  test('keeps no work waiting while requests are answered in time', async () => {
    foreground.enter();
    nowMs += LIMITS.foregroundLateMs - 1;
    expect(foreground.isLate).toBe(false);
    expect(await passes()).toBe(true);
  });

  test('keeps work waiting for a late request until it is answered', async () => {
    const leave = foreground.enter();
    nowMs += LIMITS.foregroundLateMs;
    expect(foreground.isLate).toBe(true);
    const passing = foreground.pass();
    expect(await passes()).toBe(false);
    leave();
    await passing;
    expect(foreground.isLate).toBe(false);
  });

  test('lets work go on after a while, though requests are always late', async () => {
    foreground.enter();
    nowMs += LIMITS.foregroundLateMs;
    const passing = foreground.pass();
    nowMs += LIMITS.foregroundWaitMs;
    await passing;
    expect(foreground.isLate).toBe(true);
  });

  test('does not wait for requests that are slow by themselves', async () => {
    foreground.enter();
    nowMs += LIMITS.foregroundSlowMs;
    expect(await passes()).toBe(true);
    foreground.enter();
    nowMs += LIMITS.foregroundLateMs;
    expect(foreground.isLate).toBe(true);
  });
});
