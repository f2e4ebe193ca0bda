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

  test('gives away half of the time, though requests are always late', () => {
    let heldMs = 0;
    const totalMs = 20 * LIMITS.foregroundBudgetMs;
    const stepMs = LIMITS.foregroundLookMs;
    let longestMs = 0;
    let stretchMs = 0;
    for (let ms = 0; ms < totalMs; ms += stepMs) {
      // Each is answered before it is slow by itself, and the next one is late already.
      if (ms % LIMITS.foregroundSlowMs === 0) foreground.enter();
      nowMs += stepMs;
      stretchMs = foreground.mustWait() ? stretchMs + stepMs : 0;
      if (stretchMs > 0) heldMs += stepMs;
      longestMs = Math.max(longestMs, stretchMs);
    }
    expect(longestMs).toBeGreaterThan(LIMITS.foregroundBudgetMs / 2);
    expect(longestMs).toBeLessThanOrEqual(LIMITS.foregroundBudgetMs);
    // The budget that it began with comes on top.
    expect(heldMs / totalMs).toBeGreaterThan(0.4);
    expect(heldMs / totalMs).toBeLessThan(0.6);
  });

  test('charges no work that has ended without looking again', () => {
    foreground.enter();
    nowMs += LIMITS.foregroundLateMs;
    expect(foreground.mustWait()).toBe(true);
    nowMs += LIMITS.foregroundSlowMs;
    foreground.enter();
    nowMs += LIMITS.foregroundLateMs;
    expect(foreground.mustWait()).toBe(true);
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
