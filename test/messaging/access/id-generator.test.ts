/** Proves that a seeded generator repeats its ids, and that others never do. */

import { RANDOM, seededIds } from '../../../src/messaging/access/id-generator';

const SEED = Buffer.alloc(32, 7);

const makeAll = (generator: typeof RANDOM) => [
  generator.id('ws'),
  generator.id('usr'),
  generator.id('usr'),
  generator.secret('ffs'),
  generator.secret('ffk'),
  generator.password(),
];

describe('a generator', () => {
  test('makes ids, secrets and passwords of which no two are alike', () => {
    for (const generator of [RANDOM, seededIds(SEED, 0)]) {
      const made = makeAll(generator);
      expect(made[0]).toMatch(/^ws_[0-9a-z]{19,26}$/);
      expect(made[3]).toMatch(/^ffs_[\w-]{43}$/);
      expect(made[5]).toMatch(/^[\w-]{24}$/);
      expect(new Set(made.map((one) => one.split('_').at(-1))).size).toBe(made.length);
    }
  });

  test('with a seed makes the same again, and others with another seed', () => {
    expect(makeAll(seededIds(SEED, 5))).toEqual(makeAll(seededIds(SEED, 5)));
    const other = makeAll(seededIds(Buffer.alloc(32, 8), 5));
    for (const one of makeAll(seededIds(SEED, 5))) expect(other).not.toContain(one);
  });

  test('makes ids that sort by the time it was given', () => {
    expect(seededIds(SEED, 1_000).id('a') < seededIds(SEED, 2_000).id('a')).toBe(true);
  });
});
