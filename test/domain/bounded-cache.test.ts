/** Proves that a bounded cache drops the entries used longest ago. */

import { BoundedCache } from '../../src/domain/bounded-cache';

describe('a bounded cache', () => {
  test('forgets what was used longest ago', () => {
    const cache = new BoundedCache<number>(3);
    for (const key of ['a', 'b', 'c']) cache.set(key, 1);
    cache.get('a');
    cache.set('d', 1);
    expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual([1, undefined, 1, 1]);
  });

  test('weighs its entries, and replacing one gives its weight back', () => {
    const cache = new BoundedCache<string>(10);
    cache.set('a', 'old', 6);
    cache.set('a', 'new', 4);
    cache.set('b', 'b', 6);
    expect([cache.get('a'), cache.get('b')]).toEqual(['new', 'b']);
    cache.set('c', 'c', 1);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([undefined, 'b', 'c']);
  });

  test('does not keep what is too heavy on its own', () => {
    const cache = new BoundedCache<string>(10);
    cache.set('a', 'a', 11);
    expect(cache.get('a')).toBeUndefined();
  });

  test('forgets on demand', () => {
    const cache = new BoundedCache<string>(1);
    cache.set('a', 'a');
    cache.delete('a');
    cache.delete('a');
    cache.set('b', 'b');
    expect([cache.get('a'), cache.get('b')]).toEqual([undefined, 'b']);
  });
});
