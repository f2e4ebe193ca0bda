/** Proves that a log line holds nothing of a row that the database refused. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './support/root';

const PROGRAM = `
  const { createLog } = require(process.argv[1]);
  const of = { code: '23514', table: 'recipients', detail: 'Failing row contains (run_1, ann@example.com).', where: 'JSON data, line 1: {"email":"ann@example.com"' };
  createLog('warn').warn({ err: Object.assign(new Error('violates a check'), of) }, 'It failed');
`;

test('an error of the database is logged with its code and table, without the row', () => {
  const { stderr } = spawnSync(process.execPath, ['-e', PROGRAM, join(ROOT, 'dist', 'src', 'log.js')], {
    encoding: 'utf8',
  });
  const { err } = JSON.parse(stderr);
  expect(err).toMatchObject({ message: 'violates a check', code: '23514', table: 'recipients' });
  expect(stderr).not.toContain('ann@example.com');
});
