import { constants } from 'node:fs';
import { access, stat, statfs } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { credentialsFile } from '../credentials/credentials';
import { findSynthesizer } from '../speech/find-synthesizer';
import { ownerOf } from '../storage/directory-lock';
import { lookAtPostgres } from '../storage/look-at-postgres';
import { madeBy } from '../storage/managed/data-directory';
import { findPostgresBinaries } from '../storage/managed/find-binaries';
import { findRunning } from '../storage/managed/running-server';
import { TO_WRITE } from '../storage/postgres';
import type { Check, CheckResult } from './doctor';

/** What `fanfare doctor` checks on this machine, and what it reaches without an instance. */

/** As in package.json. */
const NODE_MIN = [20, 19];

export const lookAtNode: Check = async () => {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [needsMajor = 0, needsMinor = 0] = NODE_MIN;
  const isEnough = major > needsMajor || (major === needsMajor && minor >= needsMinor);
  if (isEnough) return [{ check: 'node', state: 'ok', found: process.versions.node }];
  const wayOut = `Install Node ${NODE_MIN.join('.')} or newer.`;
  return [{ check: 'node', state: 'broken', found: `${process.versions.node} is too old`, wayOut }];
};

/** With less, a campaign of a few hundred thousand recipients may fill the disk. */
const FREE_BYTES_WANTED = 2 ** 30;

export const lookAtDirectory: Check = async ({ config: { dataDir } }) => {
  const check = 'data directory';
  const path = resolve(dataDir);
  const wayOut = 'Give this user write access to it, or set FANFARE_DATA_DIR to another directory.';
  const isThere = await canAccess(path, constants.F_OK);
  let ground = path;
  while (!(await canAccess(ground, constants.F_OK)) && dirname(ground) !== ground) ground = dirname(ground);
  if (!(await canAccess(ground, constants.W_OK | constants.X_OK))) {
    return [{ check, state: 'broken', found: `${path} cannot be written`, wayOut }];
  }
  const findings: CheckResult[] = [];
  const user = await ownerOf(path);
  const use = isThere
    ? user === undefined
      ? 'not in use'
      : `in use by process ${user}`
    : 'created at the first start';
  findings.push({ check, state: 'ok', found: `${path}, ${use}` });
  const { bavail, bsize } = await statfs(ground);
  if (bavail * bsize < FREE_BYTES_WANTED) {
    const found = `${Math.round((bavail * bsize) / 2 ** 20)} MiB are free on its disk`;
    findings.push({ check, state: 'note', found, wayOut: 'Make room; a database on a full disk stops.' });
  }
  const file = credentialsFile(path);
  const mode = await stat(file).then(
    (found) => found.mode & 0o777,
    () => undefined,
  );
  if (mode !== undefined && (mode & 0o077) !== 0) {
    const found = `${file} can be read by others (mode ${mode.toString(8).padStart(4, '0')})`;
    findings.push({ check: 'credentials', state: 'broken', found, wayOut: `chmod 600 ${file}` });
  }
  return findings;
};

const canAccess = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  );

/** Processes that share a database use its clock; people compare the times with their own. */
const CLOCK_NOTED_MS = 2_000;

export function clockFinding(of: string, aheadMs: number): CheckResult[] {
  if (Math.abs(aheadMs) < CLOCK_NOTED_MS) return [];
  const found = `the clock of ${of} is ${Math.abs(aheadMs / 1_000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ours`;
  return [{ check: 'clock', state: 'note', found, wayOut: 'Let both follow a time server (NTP).' }];
}

/** Checks the operator's server, or that of the running instance, or what a managed one needs to start. */
export const lookAtDatabase: Check = async ({ config, env }) => {
  if (config.databaseUrl) return lookAtServer(config.databaseUrl);
  const running = await findRunning(config.dataDir);
  if (running) {
    const found = `the managed server runs; psql '${running.url}' opens it`;
    return [...(await lookAtServer(running.url)), { check: 'database', state: 'ok', found }];
  }
  const { version, directory, origin } = await findPostgresBinaries({
    env: { ...env, FANFARE_POSTGRES_BIN: config.postgresBin },
    major: await madeBy(config.dataDir),
  });
  const found = `a managed PostgreSQL ${version} would be started from ${directory} (${origin})`;
  return [{ check: 'database', state: 'ok', found }];
};

async function lookAtServer(databaseUrl: string): Promise<CheckResult[]> {
  const check = 'database';
  const { version, synchronousCommit, readsOnly, pending, unknown, clockAheadMs } =
    await lookAtPostgres(databaseUrl);
  const findings: CheckResult[] = [];
  if (unknown.length > 0) {
    const found = `PostgreSQL ${version}, with a schema of a newer version of this program (${unknown.at(-1)})`;
    findings.push({
      check,
      state: 'note',
      found,
      wayOut:
        'During a rolling upgrade that is as it should be. At any other time use the program that it was made by, or a newer one.',
    });
  } else {
    const schema =
      pending.length === 0 ? 'its schema is up to date' : `${pending.length} migrations are to be run`;
    const wayOut = 'They are run at the next start, or by `fanfare migrate`.';
    findings.push({
      ...{ check, state: pending.length === 0 ? 'ok' : 'note', found: `PostgreSQL ${version}, ${schema}` },
      ...(pending.length === 0 ? {} : { wayOut }),
    });
  }
  if (readsOnly) {
    findings.push({ check, state: 'broken', found: `it takes no changes: ${readsOnly}`, wayOut: TO_WRITE });
  }
  if (synchronousCommit === 'off') {
    const found = 'synchronous_commit is off: a server that is killed forgets what was being handed over';
    findings.push({
      check,
      state: 'broken',
      found,
      wayOut: 'Set it to on for the server, the database or the role.',
    });
  }
  return [...findings, ...clockFinding('the database', clockAheadMs)];
}

export const lookAtSpeech: Check = async ({ config }) => {
  const check = 'speech';
  if (config.speech === 'none')
    return [{ check, state: 'ok', found: 'none is wanted; texts are not spoken' }];
  const found = await findSynthesizer(config.speech);
  if (!found.available) return [{ check, state: 'broken', found: found.reason, wayOut: found.wayOut }];
  return [{ check, state: 'ok', found: `${config.speech} ${found.version}, ${found.voices.length} voices` }];
};
