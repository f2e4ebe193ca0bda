import { LIMITS } from '../src/domain/limits';
import { EqualWarnings } from '../src/equal-warnings';

const gone = () => new Error('connect ECONNREFUSED 127.0.0.1:5432');

test('the first of equal warnings is written at once, and then one a minute with their number', () => {
  const warnings = new EqualWarnings();
  const written = [];
  for (let s = 0; s < 150; s++) written.push(warnings.note({ err: gone() }, 'trying again', s * 1_000));
  const lines = written.flatMap((count, s) => (count === undefined ? [] : [[s, count]]));
  expect(lines).toEqual([
    [0, 1],
    [60, 60],
    [120, 60],
  ]);
});

test.each([
  ['message', { err: gone() }, 'another'],
  ['error', { err: new Error('no room') }, 'trying again'],
  ['id', { err: gone(), group: 'grp_2' }, 'trying again'],
])('one with another %s is written', (_what, fields, message) => {
  const warnings = new EqualWarnings();
  expect(warnings.note({ err: gone(), group: 'grp_1' }, 'trying again', 0)).toBe(1);
  expect(warnings.note({ err: gone(), group: 'grp_1' }, 'trying again', 1)).toBeUndefined();
  expect(warnings.note(fields, message, 2)).toBe(1);
});

test('no more are remembered than the bound', () => {
  const warnings = new EqualWarnings();
  for (let i = 0; i <= LIMITS.warningsEqualHeld; i++) warnings.note({ i }, 'x', 0);
  expect(warnings.note({ i: LIMITS.warningsEqualHeld }, 'x', 1)).toBeUndefined();
  expect(warnings.note({ i: 0 }, 'x', 1)).toBe(1);
});
