import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { missingPeers, suitesNamed } from './peers.mjs';
import { prepare } from './prepare.mjs';
import { quickSuites } from './quick-suites.mjs';

/**
 * `npm test` and `npm run test:quick`, `test:long`, `test:peers` and `test:figures`: prepares the checkout, since worker
 * threads run from the build, sees to the `temporal` executable, since the first test that needs one could not wait
 * minutes for it, then runs jest.
 */
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const [kind, ...given] = process.argv.slice(2);
const patterns = given.filter((argument) => !argument.startsWith('-'));

async function main() {
  if (kind === 'peers') demandPeers();
  await prepare();
  const cliPath = kind === 'quick' ? process.env.TEMPORAL_CLI_PATH : await findExecutable();
  const env = { ...process.env, ...(cliPath && { TEMPORAL_CLI_PATH: cliPath }) };
  const child = spawn(process.execPath, [jest, ...argumentsOf(), ...given], {
    cwd: root,
    env,
    stdio: 'inherit',
  });
  // Ctrl-C reaches jest from the terminal; it decides when to end, and this process with it.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code) => {
    if (patterns.length === 0) sayWhatWasLeftOut();
    process.exit(code === null ? 1 : code);
  });
}

function argumentsOf() {
  if (['peers', 'long', 'figures'].includes(kind)) return ['--config', join(root, `jest.${kind}.cjs`)];
  // More at once than jest.config.cjs has for all: most of what these take is waiting, and they start no program.
  if (kind === 'quick') return ['--maxWorkers=5', '--runTestsByPath', ...quickSuites()];
  return [];
}

/** All that is missing at once, before anything runs, because half a run is taken for a whole one. */
function demandPeers() {
  const missing = missingPeers(patterns);
  if (missing.length === 0) return;
  const lines = missing.map(({ name, way }) => `  ${name}: ${way}`);
  process.stderr.write(
    `Nothing was run: these suites speak with programs of the system, and some are missing.\n${lines.join('\n')}\n` +
      'To run only suites whose programs are there, name them: npm run test:peers -- test/browser\n',
  );
  process.exit(1);
}

function sayWhatWasLeftOut() {
  const long = `${suitesNamed('long').length} suites that take half a minute to several (npm run test:long)`;
  const peers = `${suitesNamed('peers').length} that need programs of the system (npm run test:peers)`;
  if (kind === 'all') process.stdout.write(`\nLeft out: ${long}, and ${peers}.\n`);
  if (kind === 'quick') {
    process.stdout.write(
      `\nLeft out: what is slow or runs the whole program (npm test), ${long}, and ${peers}.\n`,
    );
  }
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
