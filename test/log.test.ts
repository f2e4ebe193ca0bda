/** Proves that a log line holds nothing of a row that the database refused, and that equal warnings do not fill the log. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { LIMITS } from '../src/domain/limits';
import { EqualWarnings } from '../src/log';
import { ROOT } from './support/root';

const PROGRAM = `
  const { createLog } = require(process.argv[1]);
  const of = { code: '23514', table: 'recipients', detail: 'Failing row contains (run_1, ann@example.com).', where: 'JSON data, line 1: {"email":"ann@example.com"' };
  createLog('warn').warn({ err: Object.assign(new Error('violates a check'), of) }, 'It failed');
`;

function logged(program: string) {
  const args = ['-e', program, join(ROOT, 'dist', 'src', 'log.js')];
  return spawnSync(process.execPath, args, { encoding: 'utf8' }).stderr;
}

test('an error of the database is logged with its code and table, without the row', () => {
  const stderr = logged(PROGRAM);
  const { err } = JSON.parse(stderr);
  expect(err).toMatchObject({ message: 'violates a check', code: '23514', table: 'recipients' });
  expect(stderr).not.toContain('ann@example.com');
});

const LOOP = `
  const { createLog } = require(process.argv[1]);
  const log = createLog('warn');
  const warn = () => log.warn({ err: new Error('no answer') }, 'It is away; trying again');
  for (let i = 0; i < 50; i++) warn();
  const now = Date.now();
  Date.now = () => now + 61_000;
  warn();
  for (let i = 0; i < 2; i++) log.error({ err: new Error('no answer') }, 'It failed');
`;

test('equal warnings within a minute are one line, and the next one has their number', () => {
  const lines = logged(LOOP)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines).toMatchObject([
    { level: 40, err: { message: 'no answer' }, msg: 'It is away; trying again' },
    { level: 40, err: { message: 'no answer' }, msg: 'It is away; trying again', times: 50 },
    { level: 50, msg: 'It failed' },
    { level: 50, msg: 'It failed' },
  ]);
});

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
