import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../support/root';

const MODULE = pathToFileURL(join(ROOT, 'scripts/end-with-parent.mjs')).href;

const CHILD = `
  import(${JSON.stringify(MODULE)}).then(({ endWithParent }) => {
    endWithParent();
    process.on('SIGTERM', () => {
      process.stdout.write('asked to stop');
      process.exit(0);
    });
    process.stdout.write('up ');
    setInterval(() => undefined, 1_000);
  });
`;

/** As npm does: it starts the program, and a signal that reaches npm alone ends it at once. */
const PARENT = `
  const { spawn } = require('node:child_process');
  spawn(process.execPath, ['-e', process.argv[1]], { stdio: ['ignore', 'inherit', 'inherit'] });
`;

test('a program whose parent was killed is asked to stop in order', async () => {
  const parent = spawn(process.execPath, ['-e', PARENT, CHILD], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  parent.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (said === 'up ') parent.kill('SIGKILL');
  });
  // The child holds the other end until it ends.
  await once(parent.stdout, 'end');
  expect(said).toBe('up asked to stop');
}, 30_000);
