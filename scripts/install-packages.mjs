import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runStep } from './run-step.mjs';

/**
 * Installs the packages of a checkout, for one of two purposes: `run` is the product and what builds it, `work` is
 * everything. Tests and checks have more than half of the files (38,700 against 22,900), and so of the wait: they are
 * the packages of the workspace `test`, and `npm start` leaves it out.
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const TESTS = 'node_modules/@fanfare/test';
const RUN_ONLY = ['--workspace', '@fanfare/email-layout', '--include-workspace-root'];

export function installPackages(purpose, lock) {
  // Development packages hold the compiler, which NODE_ENV=production would leave out.
  const args = ['--include=dev', '--prefer-offline', '--no-audit', '--no-fund'];
  const chosen = purpose === 'run' ? RUN_ONLY : [];
  // `npm ci` removes first what is there, and a product that `npm start` began may be running on it.
  const command = purpose === 'work' && !needsInstall('run') ? ['install', '--no-save'] : ['ci'];
  return runStep('Installing packages', 'npm', [...command, ...args, ...chosen], ROOT, lock);
}

/**
 * npm writes its own lockfile into node_modules as its last act, so an installation that was cut off
 * counts as none. The times alone would install again after every branch change: when they differ, the
 * versions decide.
 */
export function needsInstall(purpose) {
  const wantedFile = join(ROOT, 'package-lock.json');
  const installedFile = join(ROOT, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return true;
  const wanted = JSON.parse(readFileSync(wantedFile, 'utf8')).packages;
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages;
  const hasTests = TESTS in installed || !(TESTS in wanted);
  if (purpose === 'work' && !hasTests) return true;
  if (statSync(installedFile).mtimeMs >= statSync(wantedFile).mtimeMs) return false;
  const needed = hasTests ? Object.keys(wanted) : [...Object.keys(installed), ...ownPackages(wanted[''])];
  return needed.some((path) => {
    const { version, optional } = wanted[path] || {};
    if (path === '' || (optional && !installed[path])) return false;
    return !wanted[path] || !installed[path] || installed[path].version !== version;
  });
}

/** A package that another one needs comes with a new version of that one. */
function ownPackages({ dependencies, devDependencies }) {
  return Object.keys({ ...dependencies, ...devDependencies }).map((name) => `node_modules/${name}`);
}
