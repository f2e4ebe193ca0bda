import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepare } from './prepare.mjs';

/**
 * `npm test`: prepares the checkout, since worker threads run from the build, sees to the `temporal`
 * executable, since the first test that needs one could not wait minutes for it, then runs jest.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');

async function main() {
  await prepare();
  const env = { ...process.env, TEMPORAL_CLI_PATH: await findExecutable() };
  const child = spawn(process.execPath, [jest, ...process.argv.slice(2)], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  // Ctrl-C reaches jest from the terminal; it decides when to end, and this process with it.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code) => process.exit(code === null ? 1 : code));
}

async function findExecutable() {
  const build = createRequire(join(root, 'dist', 'src', 'main.js'));
  const { cacheDirectory, findTemporalExecutable } = build('./temporal/executable');
  const line = build('./cli/progress-line').createProgressLine(process.stderr);
  try {
    const { path } = await findTemporalExecutable({
      cliPath: process.env.TEMPORAL_CLI_PATH,
      cacheDir: cacheDirectory(process.env),
      env: process.env,
      onProgress: line.update,
    });
    return path;
  } finally {
    line.finish();
  }
}

main().catch((error) => {
  process.stderr.write(`${error.message}\n${error.wayOut || ''}\n`);
  process.exit(1);
});
