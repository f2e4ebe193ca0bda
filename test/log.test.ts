/** Proves that a log line holds nothing of a row that the database refused, and that equal warnings do not fill the log. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
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
    { level: 40, err: { message: 'no answer' }, msg: 'It is away; trying again', count: 50 },
    { level: 50, msg: 'It failed' },
    { level: 50, msg: 'It failed' },
  ]);
});
