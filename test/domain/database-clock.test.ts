/** Proves that a clock which is far from the database's is put right, and that the way there and back is not taken for a difference. */

import { databaseNow, noteDatabaseClock } from '../../src/domain/database-clock';

const reading = (behindMs: number, answerMs = 2) => {
  const askedAt = Date.now();
  return noteDatabaseClock({
    at: new Date(askedAt + answerMs / 2 - behindMs),
    askedAt,
    answeredAt: askedAt + answerMs,
  });
};
const differenceMs = () => Date.now() - databaseNow();

afterEach(() => reading(0));

test('a clock that is minutes ahead or behind is put right, and not once it follows again', () => {
  expect(reading(300_000)).toBe(300_000);
  expect(differenceMs()).toBeCloseTo(300_000, -2);
  expect(reading(-300_000)).toBe(-300_000);
  expect(differenceMs()).toBeCloseTo(-300_000, -2);
  expect(reading(0)).toBeUndefined();
  expect(differenceMs()).toBeCloseTo(0, -2);
});

test('a late answer and a second of difference change nothing', () => {
  expect([reading(1_000), reading(5_000, 10_000)]).toEqual([undefined, undefined]);
  expect(differenceMs()).toBeCloseTo(0, -2);
});

test('what is known of a clock holds while the database answers late', () => {
  reading(300_000);
  expect(reading(5_000, 10_000)).toBe(300_000);
  expect(reading(0, -60_000)).toBe(300_000);
  expect(differenceMs()).toBeCloseTo(300_000, -2);
});
