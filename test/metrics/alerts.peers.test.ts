/** Proves that Prometheus's own tool accepts the alert rules, and that they fire when they should. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { programOf } from '../support/program';
import { ROOT } from '../support/root';

const run = promisify(execFile);

describe('the alert rules', () => {
  const promtool = (...args: string[]) =>
    run(programOf('promtool'), args, { cwd: join(ROOT, 'docker', 'monitoring') });

  test('are accepted', async () => {
    expect((await promtool('check', 'rules', 'alerts.yml')).stdout).toMatch(/SUCCESS: 18 rules found/);
  });

  test('fire for what they name, and not before', async () => {
    expect((await promtool('test', 'rules', 'alerts.test.yml')).stdout).toMatch(/SUCCESS/);
  });
});
