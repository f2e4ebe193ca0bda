import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The suites of `npm run test:quick`, found by what they import, so that a new one need not be listed: those that use
 * neither a server of the run nor a process of their own, and of those that use the database the ones of WITH_DATABASE.
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const TESTS = join(ROOT, 'test');

/** Where a mistake in a statement shows first: accepting, handing over and the ledger. */
const WITH_DATABASE = ['test/storage/', 'test/messaging/outbox/', 'test/activities/'];

/** Gives the run's servers. */
const SERVERS = join(TESTS, 'support', 'services.ts');
/** Starts the built program. */
const PROGRAM = /\/support\/(fanfare-process|fanfare-command|installation)\.ts$/;
const OTHER_PROCESSES = /from 'node:child_process'|freshNamespace\(|temporalAddress\(/;

export function quickSuites() {
  return readdirSync(TESTS, { recursive: true })
    .filter((name) => name.endsWith('.test.ts') && !/\.(peers|long)\.test\.ts$/.test(name))
    .map((name) => join(TESTS, name))
    .filter(isQuick)
    .map((file) => relative(ROOT, file).replaceAll('\\', '/'))
    .sort();
}

function isQuick(file) {
  const reached = reachedFrom(file);
  if (reached.some((one) => PROGRAM.test(one) || (one !== SERVERS && OTHER_PROCESSES.test(textOf(one)))))
    return false;
  const path = relative(ROOT, file).replaceAll('\\', '/');
  return !reached.includes(SERVERS) || WITH_DATABASE.some((start) => path.startsWith(start));
}

/** The file and what it imports of the tests, directly and by way of others. */
function reachedFrom(file, reached = new Set()) {
  if (reached.has(file)) return [...reached];
  reached.add(file);
  // What is behind it runs in another process, once for all suites.
  if (file === SERVERS) return [...reached];
  for (const [, path] of textOf(file).matchAll(/ from '(\.[^']+)'/g)) {
    const imported = `${resolve(dirname(file), path)}.ts`;
    if (imported.startsWith(TESTS) && existsSync(imported)) reachedFrom(imported, reached);
  }
  return [...reached];
}

const texts = new Map();

function textOf(file) {
  if (!texts.has(file)) texts.set(file, readFileSync(file, 'utf8'));
  return texts.get(file);
}
