import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freshNamespace } from '../support/namespaces';

const CHILD = ['--require', require.resolve('tsx/cjs'), join(__dirname, 'busy-worker-child.ts')];
/** Longer than a step of a workflow may take by default. */
const FREEZE_MS = 6_000;
/** From the start of the workflow until it is busy. */
const BUSY_AFTER_MS = 500;

test('a process that is frozen while a workflow runs, as by `docker pause`, goes on with it', async () => {
  const { address, namespace } = await freshNamespace();
  const child = spawn(process.execPath, [...CHILD, address, namespace], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = once(child, 'exit');
  try {
    while (!output.includes('busy\n') && child.exitCode === null) await delay(20);
    await delay(BUSY_AFTER_MS);
    child.kill('SIGSTOP');
    await delay(FREEZE_MS);
    expect(output).not.toContain('done');
    child.kill('SIGCONT');
    await ended;
    expect(output).toMatch(/done\n$/);
  } finally {
    child.kill('SIGKILL');
  }
}, 180_000);
