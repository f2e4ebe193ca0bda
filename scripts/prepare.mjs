import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPackages, needsInstall } from './install-packages.mjs';
import { lockCheckout } from './lock-checkout.mjs';
import { runStep } from './run-step.mjs';

/**
 * Makes a checkout ready to run: packages installed, sources built, each only when needed. Built on
 * Node's own modules, since nothing is installed yet, and in a syntax that an old Node can read, so
 * that it says which one is needed instead of showing a syntax error.
 */
const OLDEST_NODE = [20, 19];
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const SOURCES = ['src', 'workflows', 'activities', 'workers'];
/** What the console is made of, besides its packages. */
const CONSOLE = 'console';
const COMPILER = join('scripts', 'compile.mjs');
const BUILD_INPUTS = ['tsconfig.json', COMPILER, 'package-lock.json'];
const EMAIL_LAYOUT = join('packages', 'email-layout');
const EMAIL_LAYOUT_INPUTS = ['package.json', 'build.mjs', 'renderer.cjs'];

const dist = join(ROOT, 'dist');
const stampFile = join(dist, '.built');
const consoleStampFile = join(dist, '.built-console');
const consoleFile = join(dist, 'console', 'index.html');
const mainFile = join(dist, 'src', 'main.js');
const bundleFile = join(dist, 'workflow-bundle.js');
const tracedBundleFile = join(dist, 'workflow-bundle-traced.js');
const bundler = join(dist, 'workers', 'bundle.js');
const emailLayoutFile = join(ROOT, EMAIL_LAYOUT, 'dist', 'index.cjs');

/**
 * To run the product, or to work on it, which needs the packages of tests and checks as well. Ends the process with one
 * message when it cannot be done.
 */
export async function prepare(purpose = 'work') {
  checkNode();
  try {
    if (needsInstall(purpose) || needsBuild(purpose) || needsConsole()) await prepareAlone(purpose);
  } catch (error) {
    process.stderr.write(`This checkout cannot be prepared: ${error.message}\n`);
    process.exit(1);
  }
}

async function prepareAlone(purpose) {
  mkdirSync(dist, { recursive: true });
  const lock = await lockCheckout(join(dist, '.prepare-lock'));
  try {
    // Asked again, because the one that held the lock has probably done the work.
    if (needsInstall(purpose)) await installPackages(purpose, lock);
    await Promise.all([
      needsBuild(purpose) ? build(purpose, lock) : undefined,
      needsConsole() ? buildConsole(lock) : undefined,
    ]);
  } finally {
    lock.release();
  }
}

function checkNode() {
  const version = process.versions.node.split('.').map(Number);
  const isNewEnough =
    version[0] > OLDEST_NODE[0] || (version[0] === OLDEST_NODE[0] && version[1] >= OLDEST_NODE[1]);
  if (isNewEnough) return;
  process.stderr.write(
    `Node ${OLDEST_NODE.join('.')} or newer is needed; this is ${process.versions.node}.\n` +
      'Install a newer one (https://nodejs.org) and run the command again.\n',
  );
  process.exit(1);
}

function needsBuild(purpose) {
  const made = [stampFile, mainFile, bundleFile, emailLayoutFile];
  if (needsTracedBundle(purpose)) made.push(tracedBundleFile);
  if (!made.every((file) => existsSync(file))) return true;
  return readFileSync(stampFile, 'utf8') !== sourceHash();
}

/** A start that sends no traces leaves it out, because a newcomer waits for it. */
function needsTracedBundle(purpose) {
  return purpose === 'work' || Object.keys(process.env).some((name) => name.startsWith('OTEL_'));
}

async function build(purpose, lock) {
  const hash = sourceHash();
  rmSync(stampFile, { force: true });
  // It would be taken for one of these sources if it were left, and not made again.
  rmSync(tracedBundleFile, { force: true });
  await runStep('Building', process.execPath, [COMPILER, ...SOURCES], ROOT, lock);
  removeOrphans();
  const bundles = [
    ['Bundling workflows', bundler, 'plain'],
    ['Bundling the email renderer', join(EMAIL_LAYOUT, 'build.mjs')],
  ];
  if (needsTracedBundle(purpose)) bundles.push(['Bundling workflows with traces', bundler, 'traced']);
  await Promise.all(bundles.map(([title, ...args]) => runStep(title, process.execPath, args, ROOT, lock)));
  writeFileSync(stampFile, hash);
}

/** Apart from the rest, so that a change on one side does not build the other. */
function needsConsole() {
  if (!existsSync(join(ROOT, CONSOLE)) || !existsSync(consoleStampFile) || !existsSync(consoleFile))
    return existsSync(join(ROOT, CONSOLE));
  return readFileSync(consoleStampFile, 'utf8') !== consoleHash();
}

async function buildConsole(lock) {
  const hash = consoleHash();
  rmSync(consoleStampFile, { force: true });
  const vite = join(ROOT, 'node_modules', 'vite', 'bin', 'vite.js');
  const args = [vite, 'build', '--config', join(CONSOLE, 'vite.config.mjs')];
  await runStep('Building the console', process.execPath, args, ROOT, lock);
  writeFileSync(consoleStampFile, hash);
}

/** What was built of sources that are gone by now would be packed with the rest. */
function removeOrphans() {
  for (const folder of SOURCES) {
    if (!existsSync(join(dist, folder))) continue;
    for (const name of readdirSync(join(dist, folder), { recursive: true })) {
      const source = join(ROOT, folder, name.replace(/(\.d\.ts|\.js(\.map)?)$/, '.ts'));
      if (/\.(js|js\.map|d\.ts)$/.test(name) && !existsSync(source)) rmSync(join(dist, folder, name));
    }
  }
}

/** By content: a checkout of another branch and back builds nothing, a touched file neither. */
function sourceHash() {
  const files = [...BUILD_INPUTS, ...EMAIL_LAYOUT_INPUTS.map((name) => join(EMAIL_LAYOUT, name))].map(
    (name) => join(ROOT, name),
  );
  for (const folder of SOURCES) {
    if (!existsSync(join(ROOT, folder))) continue;
    for (const name of readdirSync(join(ROOT, folder), { recursive: true }).sort()) {
      if (name.endsWith('.ts')) files.push(join(ROOT, folder, name));
    }
  }
  return hashOf(files);
}

function consoleHash() {
  const names = readdirSync(join(ROOT, CONSOLE), { recursive: true }).sort();
  const sources = names.filter((name) => /\.(tsx?|css|svg|html|mjs)$/.test(name));
  return hashOf(
    ['package-lock.json', ...sources.map((name) => join(CONSOLE, name))].map((name) => join(ROOT, name)),
  );
}

function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) {
    if (existsSync(file))
      hash.update(file.slice(ROOT.length)).update('\0').update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) void prepare();
