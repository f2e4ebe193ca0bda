/** Proves which errors mean that the database is away. */

import { createConnection } from 'node:net';
import { isUnavailable } from '../../../src/messaging/model/database-error';

test('a socket that is not there means that the database is away, a file that is not there does not', async () => {
  const error = await new Promise((done) => {
    createConnection('/nonexistent-fanfare/.s.PGSQL.5432').once('error', done);
  });
  expect(isUnavailable(error)).toBe(true);
  expect(isUnavailable(Object.assign(new Error('no such file'), { code: 'ENOENT', syscall: 'open' }))).toBe(
    false,
  );
});
