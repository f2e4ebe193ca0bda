import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ROOT } from '../support/root';
import { until } from '../support/until';

/**
 * The scripts in a checkout of their own, whose npm and compiler are scripts that note what they were
 * asked and make what the real ones would.
 */
let root: string;
let env: Record<string, string | undefined>;

const LOCK = (version: string) =>
  JSON.stringify({
    packages: {
      '': {},
      'node_modules/esbuild': { version },
      'node_modules/extra': { version, optional: true },
    },
  });

/** Where tests have packages of their own. Without them, npm leaves out what stands under `test`. */
const LOCK_WITH_TESTS = (version: string, tool = '1.0.0') =>
  JSON.stringify({
    packages: {
      '': { dependencies: { extra: '1' }, devDependencies: { esbuild: '1' } },
      'node_modules/esbuild': { version },
      'node_modules/extra': { version, optional: true },
      'node_modules/@fanfare/test': { resolved: 'test', link: true },
      'node_modules/tool': { version: tool },
    },
  });

const NPM = `#!/bin/sh
case "$*" in
*--workspace*) echo npm for running >> steps ;;
install*) echo npm adds >> steps ;;
*) echo npm >> steps ;;
esac
if [ -n "$BREAK_NPM" ]; then echo "registry is down" >&2; exit 1; fi
if [ -n "$SLOW_NPM" ]; then sleep "$SLOW_NPM"; fi
mkdir -p node_modules
case "$*" in
*--workspace*) node -e '
  const { readFileSync, writeFileSync } = require("node:fs");
  const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
  for (const name of ["@fanfare/test", "tool"]) delete lock.packages["node_modules/" + name];
  writeFileSync("node_modules/.package-lock.json", JSON.stringify(lock));' ;;
*) cp package-lock.json node_modules/.package-lock.json ;;
esac
`;
const COMPILER = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
appendFileSync('steps', 'compile\\n');
mkdirSync('dist/src', { recursive: true });
mkdirSync('dist/workers', { recursive: true });
writeFileSync('dist/src/main.js', 'console.log("main " + process.argv.slice(2).join(" "))');
writeFileSync('dist/workers/bundle.js', \`
const { appendFileSync, writeFileSync } = require('node:fs');
const traced = process.argv[2] === 'traced';
appendFileSync('steps', traced ? 'bundle with traces\\\\n' : 'bundle\\\\n');
writeFileSync(traced ? 'dist/workflow-bundle-traced.js' : 'dist/workflow-bundle.js', '');
\`);
`;

const EMAIL_LAYOUT = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
appendFileSync('steps', 'email layout\\n');
mkdirSync('packages/email-layout/dist', { recursive: true });
writeFileSync('packages/email-layout/dist/index.cjs', '');
`;
/** All but the compiler's work is made at once. */
const BUILD = ['bundle', 'bundle with traces', 'compile', 'email layout'];
/** Of a start that sends no traces. */
const BUILD_TO_START = BUILD.filter((step) => step !== 'bundle with traces');

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'fanfare-prepare-'));
  cpSync(join(ROOT, 'scripts'), join(root, 'scripts'), { recursive: true });
  mkdirSync(join(root, 'bin'));
  writeFileSync(join(root, 'bin', 'npm'), NPM, { mode: 0o755 });
  writeFileSync(join(root, 'scripts', 'compile.mjs'), COMPILER);
  writeFileSync(join(root, 'package-lock.json'), LOCK('1.0.0'));
  mkdirSync(join(root, 'src', 'deep'), { recursive: true });
  writeFileSync(join(root, 'src', 'deep', 'a.ts'), 'export const a = 1;');
  writeFileSync(join(root, 'src', 'main.ts'), 'export const main = 1;');
  mkdirSync(join(root, 'workers'));
  writeFileSync(join(root, 'workers', 'bundle.ts'), 'export const bundle = 1;');
  mkdirSync(join(root, 'packages', 'email-layout'), { recursive: true });
  writeFileSync(join(root, 'packages', 'email-layout', 'build.mjs'), EMAIL_LAYOUT);
  env = { ...process.env, PATH: `${join(root, 'bin')}${delimiter}${process.env.PATH}` };
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function prepare(script = 'prepare.mjs', args: string[] = []) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'scripts', script), ...args], {
    cwd: root,
    env: env as NodeJS.ProcessEnv,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** What was run since this was last asked. */
function steps(): string[] {
  const file = join(root, 'steps');
  const done = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  rmSync(file, { force: true });
  const npm = done.filter((step) => step.startsWith('npm'));
  return [...npm, ...done.filter((step) => !npm.includes(step)).sort()];
}

test('a fresh checkout is installed and built, and then left alone', () => {
  const first = prepare();
  expect(first).toMatchObject({ status: 0 });
  expect(first.stderr).toMatch(/Installing packages\n.*done after \d+ s\nBuilding\n/);
  expect(steps()).toEqual(['npm', ...BUILD]);

  expect(prepare()).toEqual({ status: 0, stdout: '', stderr: '' });
  expect(steps()).toEqual([]);
});

test('a changed source is built, a touched one is not', () => {
  prepare();
  steps();
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(root, 'src', 'deep', 'a.ts'), later, later);
  prepare();
  expect(steps()).toEqual([]);

  appendFileSync(join(root, 'src', 'deep', 'a.ts'), 'export const b = 2;');
  prepare();
  expect(steps()).toEqual(BUILD);
});

test('what was built of a source that is gone is not left behind', () => {
  prepare();
  const orphan = join(root, 'dist', 'src', 'gone.js');
  writeFileSync(orphan, '');
  appendFileSync(join(root, 'src', 'deep', 'a.ts'), 'export const b = 2;');
  prepare();
  expect([existsSync(orphan), existsSync(join(root, 'dist', 'src', 'main.js'))]).toEqual([false, true]);
});

test('a build whose output was removed is made again', () => {
  prepare();
  steps();
  for (const output of ['dist/src', 'dist/workflow-bundle.js', 'packages/email-layout/dist']) {
    rmSync(join(root, output), { recursive: true });
    prepare();
    expect(steps()).toEqual(BUILD);
  }
});

test('packages are installed when a version changed, not when only the time did', () => {
  prepare();
  steps();
  const later = new Date(Date.now() + 60_000);
  utimesSync(join(root, 'package-lock.json'), later, later);
  prepare();
  expect(steps()).toEqual([]);

  writeFileSync(join(root, 'package-lock.json'), LOCK('1.1.0'));
  utimesSync(join(root, 'package-lock.json'), later, later);
  prepare();
  expect(steps()).toEqual(['npm', ...BUILD]);
});

test('start installs what running needs, and other scripts the packages of tests as well', () => {
  const later = (file: string) => {
    const time = new Date(Date.now() + 60_000);
    utimesSync(join(root, file), time, time);
  };
  writeFileSync(join(root, 'package-lock.json'), LOCK_WITH_TESTS('1.0.0'));
  prepare('start.mjs');
  expect(steps()).toEqual(['npm for running', ...BUILD_TO_START]);

  // A tool of the tests that is missing keeps the product from nothing.
  writeFileSync(join(root, 'package-lock.json'), LOCK_WITH_TESTS('1.0.0', '2.0.0'));
  later('package-lock.json');
  prepare('start.mjs');
  expect(steps()).not.toContain('npm for running');
  writeFileSync(join(root, 'package-lock.json'), LOCK_WITH_TESTS('1.1.0'));
  later('package-lock.json');
  prepare('start.mjs');
  expect(steps()).toContain('npm for running');

  prepare();
  expect(steps()).toEqual(['npm adds', ...BUILD]);
  prepare('start.mjs');
  expect(steps()).toEqual([]);
});

test('start makes the bundle with traces where traces are sent, and never leaves one of other sources', () => {
  const traced = () => existsSync(join(root, 'dist', 'workflow-bundle-traced.js'));
  prepare();
  expect(traced()).toBe(true);
  appendFileSync(join(root, 'src', 'deep', 'a.ts'), 'export const b = 2;');
  prepare('start.mjs');
  expect(traced()).toBe(false);
  steps();
  env.OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318';
  prepare('start.mjs');
  expect(traced()).toBe(true);
  expect(steps()).toEqual(BUILD);
});

test('an installation that was cut off is made again', () => {
  prepare();
  steps();
  rmSync(join(root, 'node_modules', '.package-lock.json'));
  prepare();
  expect(steps()).toEqual(['npm']);
});

test('a step that fails shows the end of its output, and the next start tries again', () => {
  env.BREAK_NPM = 'yes';
  const broken = prepare();
  expect(broken.status).toBe(1);
  expect(broken.stderr).toContain('registry is down\n\nInstalling packages failed');
  expect(steps()).toEqual(['npm']);

  env.BREAK_NPM = '';
  expect(prepare().status).toBe(0);
  expect(steps()).toEqual(['npm', ...BUILD]);
});

test('start becomes the program, in the same process', () => {
  expect(prepare('start.mjs', ['--extra'])).toMatchObject({ status: 0, stdout: 'main up --demo --extra\n' });
});

test('with an old Node, the error names the version that is needed', () => {
  const preload = join(root, 'old-node.cjs');
  writeFileSync(preload, "Object.defineProperty(process.versions, 'node', { value: '18.20.0' });");
  env.NODE_OPTIONS = `--require ${preload}`;
  const told = prepare();
  expect(told).toMatchObject({ status: 1, stderr: expect.stringContaining('Node 20.19 or newer is needed') });
  expect(steps()).toEqual([]);
});

describe('two at once', () => {
  function startOne(): { child: ChildProcess; output: () => string; ended: Promise<number | null> } {
    const child = spawn(process.execPath, [join(root, 'scripts', 'prepare.mjs')], {
      cwd: root,
      env: env as NodeJS.ProcessEnv,
    });
    let output = '';
    child.stderr.on('data', (chunk) => {
      output += chunk;
    });
    return { child, output: () => output, ended: new Promise((done) => child.once('exit', done)) };
  }

  test('the second waits and finds the work done', async () => {
    env.SLOW_NPM = '1';
    const first = startOne();
    await until('the first has begun', () => existsSync(join(root, 'steps')));
    const second = startOne();
    expect(await Promise.all([first.ended, second.ended])).toEqual([0, 0]);
    expect(second.output()).toContain(`Waiting for process ${first.child.pid}`);
    expect(steps()).toEqual(['npm', ...BUILD]);
  });

  test('a killed one is waited for as long as what it started still runs, and no longer', async () => {
    env.SLOW_NPM = '1';
    const first = startOne();
    const lock = join(root, 'dist', '.prepare-lock');
    await until(
      'the lock names what it runs',
      () => existsSync(lock) && readFileSync(lock, 'utf8').includes(' '),
    );
    await until('that has begun', () => existsSync(join(root, 'steps')));
    first.child.kill('SIGKILL');
    await first.ended;
    const second = startOne();
    expect(await second.ended).toBe(0);
    expect(steps()).toEqual(['npm', ...BUILD]);
  });

  test('a process that has got the number of a killed one, as in a container that starts again, is not waited for', async () => {
    mkdirSync(join(root, 'dist'), { recursive: true });
    writeFileSync(join(root, 'dist', '.prepare-lock'), `${process.pid}:1`);
    expect(await startOne().ended).toBe(0);
  });

  test('one that has ended, and that its parent has not asked about, is not waited for', async () => {
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 600']);
    try {
      const pid = Number(await new Promise((done) => parent.stdout.once('data', done)));
      const stat = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] as string;
      await until('it has ended', () => stat().startsWith('Z'));
      mkdirSync(join(root, 'dist'), { recursive: true });
      writeFileSync(join(root, 'dist', '.prepare-lock'), `${pid}:${stat().split(' ')[19]}`);
      expect(await startOne().ended).toBe(0);
    } finally {
      parent.kill('SIGKILL');
    }
  });
});
