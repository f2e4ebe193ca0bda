/** Proves that a server is restarted for as long as only a full disk keeps it from running. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/log';
import { keepRunning, type RunningServer } from '../../src/supervision/keep-running';
import { startSupervised } from '../../src/supervision/supervised-process';
import { until } from '../support/until';

const FULL = 'No space left on device';
/** With their growing distances, 7 restarts take 24 s. */
const WAIT_MS = 50_000;

let dataDir: string;
let starts: number;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'fanfare-keep-'));
  starts = 0;
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** A server that writes its last words and ends, or runs if it has none. */
async function start(words: string | undefined): Promise<RunningServer> {
  starts++;
  const script = words === undefined ? 'exec sleep 600' : `echo ${words} >&2; exit 1`;
  const process = startSupervised('sh', ['-c', script], {
    ...{ pidFile: join(dataDir, 'server.pid'), cwd: dataDir },
    signals: { stop: 'TERM', atOnce: 'KILL' },
  });
  return { process, pid: 0 };
}

async function keep(next: () => Promise<RunningServer>) {
  const outcomes: boolean[] = [];
  const server = keepRunning(await start(FULL), {
    ...{ name: 'server', log: createLog('silent'), dataDir, start: next },
    onCrash: ({ restarted }) => void outcomes.push(restarted),
  });
  return { server, outcomes };
}

test('a server that ends, or cannot be started, again and again on a full disk runs once there is room', async () => {
  const { server, outcomes } = await keep(async () => {
    if (starts === 7) return start(undefined);
    if (starts % 2 === 0) return start(FULL);
    starts++;
    throw new Error(`ENOSPC: ${FULL.toLowerCase()}, write`);
  });
  await until('the server was started 8 times', () => starts === 8, WAIT_MS);
  await until('the last start is known', () => outcomes.length > 0);
  await server.stop();
  expect(outcomes).not.toContain(false);
}, 60_000);

test('a server that ends again and again for another reason is given up', async () => {
  const { server, outcomes } = await keep(() => start('something else'));
  await until('the server is given up', () => outcomes.includes(false), WAIT_MS);
  await server.stop();
  expect({ starts, outcomes }).toEqual({ starts: 7, outcomes: [...Array(6).fill(true), false] });
}, 60_000);
