import { createCredentialCache } from '../../../src/messaging/access/credential-cache';

/** A cache whose questions wait until the test answers them. */
function heldCache() {
  const asked: { answer(holder: string | undefined): void; fail(): void }[] = [];
  const clock = { nowMs: 0 };
  const cache = createCredentialCache<string>({
    now: () => clock.nowMs,
    load: () =>
      new Promise((done, fail) => {
        asked.push({ answer: done, fail: () => fail(new Error('no database')) });
      }),
  });
  return { asked, clock, cache };
}

async function knownCache() {
  const made = heldCache();
  const first = made.cache.find('s');
  made.asked[0]?.answer('holder');
  expect(await first).toBe('holder');
  return made;
}

describe('remembered credentials', () => {
  test('callers that come together share one question', async () => {
    const { asked, cache } = heldCache();
    const both = Promise.all([cache.find('s'), cache.find('s')]);
    asked[0]?.answer('holder');
    expect(await both).toEqual(['holder', 'holder']);
    expect(asked).toHaveLength(1);
  });

  test('a credential that was read before the clock was set back is read again', async () => {
    const { asked, clock, cache } = await knownCache();
    clock.nowMs = -3_600_000;
    const after = cache.find('s');
    asked[1]?.answer(undefined);
    expect(await after).toBeUndefined();
  });

  test('a credential in steady use needs no wait for the database, and its revocation soon counts', async () => {
    const { asked, clock, cache } = await knownCache();
    for (clock.nowMs = 100; clock.nowMs < 2_000; clock.nowMs += 100) await cache.find('s');
    expect(asked).toHaveLength(1);
    // The question is asked now and not answered: callers are served all the same.
    for (; clock.nowMs < 4_000; clock.nowMs += 100) expect(await cache.find('s')).toBe('holder');
    expect(asked).toHaveLength(2);
    asked[1]?.answer(undefined);
    await Promise.resolve();
    const after = cache.find('s');
    asked[2]?.answer(undefined);
    expect(await after).toBeUndefined();
  });

  test('a good credential is relied on for four seconds, whatever the database does', async () => {
    const { asked, clock, cache } = await knownCache();
    clock.nowMs = 3_000;
    expect(await cache.find('s')).toBe('holder');
    asked[1]?.fail();
    await Promise.resolve();
    clock.nowMs = 3_999;
    expect(await cache.find('s')).toBe('holder');
    clock.nowMs = 4_000;
    const waiting = cache.find('s');
    asked.at(-1)?.fail();
    await expect(waiting).rejects.toThrow('no database');
  });

  test('what is forgotten is asked for anew, also when a question was under way', async () => {
    for (const forget of ['forget', 'forgetAll'] as const) {
      const { asked, clock, cache } = await knownCache();
      clock.nowMs = 2_500;
      await cache.find('s');
      cache[forget]('s');
      asked[1]?.answer('holder');
      await Promise.resolve();
      const anew = cache.find('s');
      asked[2]?.answer(undefined);
      expect(await anew).toBeUndefined();
    }
  });
});
