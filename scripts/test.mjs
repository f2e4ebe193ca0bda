import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepare } from './prepare.mjs';

/** `npm test`: prepares the checkout, since worker threads run from the build, then runs jest. */
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');

void prepare().then(() => {
  const child = spawn(process.execPath, [jest, ...process.argv.slice(2)], { cwd: root, stdio: 'inherit' });
  // Ctrl-C reaches jest from the terminal; it decides when to end, and this process with it.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code) => process.exit(code === null ? 1 : code));
});
