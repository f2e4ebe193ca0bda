/** Proves the form and the order of ids. */

import { newId, newIdInOrder, timeOfId } from '../../src/storage/new-id';

test('ids are short, URL-safe and name what they are for', () => {
  expect(newId('cmp')).toMatch(/^cmp_[0-9a-z]{19}$/);
});

test('ids made in one millisecond differ', () => {
  const ids = Array.from({ length: 10_000 }, () => newId('x', 1_790_000_000_000));
  expect(new Set(ids).size).toBe(ids.length);
});

test('ids in order sort as they were made, also within one millisecond, and differ between processes', () => {
  const ids = Array.from({ length: 1_000 }, () => newIdInOrder('x', 1_790_000_000_000));
  expect([...ids].sort()).toEqual(ids);
  expect(ids[0]).toMatch(/^x_[0-9a-z]{19}$/);
  const randomParts = new Set(ids.map((id) => id.slice(-7)));
  expect(randomParts.size).toBe(ids.length);
});

test('ids sort by the time they were made', () => {
  const times = [0, 1, 31, 32, 1_023, 1_024, 1_790_000_000_000, 1_790_000_000_001, 9_999_999_999_999];
  const ids = times.map((time) => newId('x', time));
  expect([...ids].sort()).toEqual(ids);
  expect(ids.map(timeOfId)).toEqual(times);
});
