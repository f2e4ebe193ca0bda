/**
 * Proves that docker-compose.yml describes an installation that works, without a container engine: its services run on this
 * machine, each is killed once while a campaign is sent, and no recipient is lost or sent to twice.
 */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/root';

const run = promisify(execFile);
/** Building Temporal takes the most, the first time. */
const LIMIT_MS = 3_000_000;

test(
  'what docker-compose.yml describes runs, and loses nobody when each of its services is killed',
  async () => {
    const { stdout } = await run(process.execPath, [join(ROOT, 'scripts', 'compose-proof.mjs')], {
      maxBuffer: 16 * 1024 * 1024,
    });
    const [, lost, twice] = /completed: .* (\d+) lost, (\d+) twice$/m.exec(stdout) ?? [];
    expect({ lost, twice }).toEqual({ lost: '0', twice: '0' });
    expect(stdout).toMatch(/^killed once: .*serve, .*worker, worker-2, temporal, postgresql, temporal-ui$/m);
    for (const job of ['postgresql-roles', 'temporal-schema', 'temporal-namespace'])
      expect(stdout).toContain(`${job} once more: ended with 0`);
  },
  LIMIT_MS,
);
