import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** A file system in memory, where the system has one. */
const MEMORY = '/dev/shm';
const PREFIX = 'fanfare-test-';
/** A run's databases take up to 1 GB; programs need the rest of the memory. */
const ROOM_BYTES_MIN = 4e9;
const MEMORY_BYTES_MIN = 6e9;
const EVIDENCE_KEPT_MS = 24 * 3_600_000;
/** Longer than a server takes from making its directory to having a process. */
const STARTING_MS = 10 * 60_000;

/**
 * A new directory for what a server keeps, in memory where there is room: copying a database makes 350 files, which
 * took 0.1 s there, and 1.3 s on the disk of the same busy machine. Nothing in it can be executed everywhere.
 */
export function makeWorkDirectory(name: string): string {
  return mkdtempSync(join(hasRoom() ? MEMORY : tmpdir(), `${PREFIX}${name}-`));
}

function hasRoom(): boolean {
  if (process.platform !== 'linux' || !existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ROOM_BYTES_MIN && freemem() >= MEMORY_BYTES_MIN;
}

/** To where it takes no memory; answers where. */
export function keepOnDisk(directory: string): string {
  if (dirname(directory) !== MEMORY) return directory;
  const kept = join(tmpdir(), basename(directory));
  cpSync(directory, kept, { recursive: true });
  rmSync(directory, { recursive: true, force: true });
  return kept;
}

/** What failed tests and killed runs have left. */
export function removeOldEvidence(): void {
  for (const name of namesIn(tmpdir())) {
    const directory = join(tmpdir(), name);
    if (ageMs(directory) > EVIDENCE_KEPT_MS) rmSync(directory, { recursive: true, force: true });
  }
  for (const name of existsSync(MEMORY) ? namesIn(MEMORY) : []) {
    const directory = join(MEMORY, name);
    const isOld = ageMs(directory) > (isOfPostgres(name) ? STARTING_MS : EVIDENCE_KEPT_MS);
    if (isOld && !runs(directory)) rmSync(directory, { recursive: true, force: true });
  }
}

const namesIn = (directory: string) => readdirSync(directory).filter((name) => name.startsWith(PREFIX));
const isOfPostgres = (name: string) => name.startsWith(`${PREFIX}postgres-`);
const ageMs = (path: string) =>
  Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());

function runs(directory: string): boolean {
  try {
    const [pid] = readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
