/** Proves that a password verifies against its own hash alone. */

import { hashPassword, PASSWORD_COST, verifyPassword } from '../../../src/messaging/access/passwords';

const CHEAP = { log2N: 10, r: 8, p: 1 };

describe('passwords', () => {
  test('a password verifies against its own hash alone', async () => {
    const hash = await hashPassword('correct horse', CHEAP);
    expect(await verifyPassword('correct horse', hash, CHEAP)).toBe(true);
    expect(await verifyPassword('correct hors', hash, CHEAP)).toBe(false);
    expect(await verifyPassword('', hash, CHEAP)).toBe(false);
  });

  test('equal passwords have different hashes, and the hash says its cost', async () => {
    const [one, two] = await Promise.all([hashPassword('same', CHEAP), hashPassword('same', CHEAP)]);
    expect(one).not.toBe(two);
    expect(one).toMatch(/^scrypt\$10\$8\$1\$/);
  });

  test('a hash of another cost still verifies', async () => {
    const old = await hashPassword('p', { log2N: 11, r: 4, p: 2 });
    expect(await verifyPassword('p', old, CHEAP)).toBe(true);
  });

  test('a password is never right without a stored hash', async () => {
    expect(await verifyPassword('', undefined, CHEAP)).toBe(false);
  });

  test('the cost of production is one that this machine can pay', async () => {
    expect(await verifyPassword('p', await hashPassword('p', PASSWORD_COST), PASSWORD_COST)).toBe(true);
  });

  test('the same letters composed differently are the same password', async () => {
    expect(await verifyPassword('Zoe\u0308', await hashPassword('Zo\u00eb', CHEAP), CHEAP)).toBe(true);
  });
});
