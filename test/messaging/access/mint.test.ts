import { RANDOM, seededMint } from '../../../src/messaging/access/mint';

const SEED = Buffer.alloc(32, 7);

const makeAll = (mint: typeof RANDOM) => [
  mint.id('ws'),
  mint.id('usr'),
  mint.id('usr'),
  mint.secret('ffs'),
  mint.secret('ffk'),
  mint.password(),
];

describe('a mint', () => {
  test('makes ids, secrets and passwords of which no two are alike', () => {
    for (const mint of [RANDOM, seededMint(SEED, 0)]) {
      const made = makeAll(mint);
      expect(made[0]).toMatch(/^ws_[0-9a-z]{26}$/);
      expect(made[3]).toMatch(/^ffs_[\w-]{43}$/);
      expect(made[5]).toMatch(/^[\w-]{24}$/);
      expect(new Set(made.map((one) => one.split('_').at(-1))).size).toBe(made.length);
    }
  });

  test('with a seed makes the same again, and others with another seed', () => {
    expect(makeAll(seededMint(SEED, 5))).toEqual(makeAll(seededMint(SEED, 5)));
    const other = makeAll(seededMint(Buffer.alloc(32, 8), 5));
    for (const one of makeAll(seededMint(SEED, 5))) expect(other).not.toContain(one);
  });

  test('makes ids that sort by the time it was given', () => {
    expect(seededMint(SEED, 1_000).id('a') < seededMint(SEED, 2_000).id('a')).toBe(true);
  });
});
