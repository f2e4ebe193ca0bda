import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Signs of life of a claim's owner for a process that cannot see it by its process id: one in another container, or on
 * another machine with the same storage. A socket beside the claim answers on the same kernel, also while the owner is
 * frozen, and is dead at once when the owner is. Elsewhere, only the time of the claim's file tells, which the owner
 * sets again and again. The reader waits for it to change, because clocks differ and are set.
 */
const TOUCH_MS = 1_000;
/** Ten times as long, since a busy machine delays its timers. Every start after a power cut waits for so long. */
const WATCH_MS = 10_000;
const POLL_MS = 100;

/** Where a process id means something. Empty on systems without namespaces, which all count as one. */
export interface Whereabouts {
  namespace: string;
  boot: string;
}

export function whereabouts(): Whereabouts {
  const read = (of: () => string) => {
    try {
      return of().trim();
    } catch {
      return '';
    }
  };
  return {
    namespace: read(() => readlinkSync('/proc/self/ns/pid')),
    boot: read(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
  };
}

/** Gives the signs until it is called off; called before the claim is there. */
export async function giveSigns(directory: string, claim: string): Promise<() => void> {
  const server = createServer((socket) => socket.destroy()).unref();
  const isThere = await atSocket(
    directory,
    claim,
    (path) =>
      new Promise<boolean>((done) => {
        // Some file systems have no sockets. Later errors, such as too many open files, concern only the one who knocks.
        server.on('error', () => done(false)).listen(path, () => done(true));
      }),
  );
  const touching = setInterval(() => {
    try {
      const now = new Date();
      utimesSync(join(directory, claim), now, now);
    } catch {
      // The claim is not there yet, or the disk cannot be reached now.
    }
  }, TOUCH_MS).unref();
  return () => {
    clearInterval(touching);
    server.close();
    if (isThere) rmSync(join(directory, socketOf(claim)), { force: true });
  };
}

/** Whether the owner of that claim lives, who was there at the time. */
export async function givesSigns(
  directory: string,
  claim: string,
  { boot }: Whereabouts,
  onWait: (ms: number) => void,
): Promise<boolean> {
  if (boot === whereabouts().boot) {
    const answer = await atSocket(directory, claim, knock);
    if (answer !== undefined) return answer;
  }
  const file = join(directory, claim);
  const touchedAt = () => statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  const before = touchedAt();
  const until = performance.now() + WATCH_MS;
  onWait(WATCH_MS);
  while (performance.now() < until) {
    await delay(POLL_MS);
    const now = touchedAt();
    if (now === undefined) return false;
    if (now !== before) return true;
  }
  return false;
}

export function removeSocket(directory: string, claim: string): void {
  rmSync(join(directory, socketOf(claim)), { force: true });
}

/**
 * Removes what processes left that were killed before their claim was there. A socket without a claim may also be of a
 * process that is about to write it, which takes a moment.
 */
export function removeStraySigns(directory: string): void {
  const names = new Set(readdirSync(directory));
  for (const name of names) {
    const claim = /^(claim_\w+)\.sock$/.exec(name)?.[1];
    const isStray = claim === undefined ? /^lock-\w+\.new$/.test(name) : !names.has(`lock-${claim}`);
    if (!isStray) continue;
    const file = join(directory, name);
    const changedAt = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - changedAt > STRAY_AFTER_MS) rmSync(file, { force: true });
  }
}

/** Long, because clocks of machines with the same storage differ. */
const STRAY_AFTER_MS = 3_600_000;

/** Not named like a claim, because an earlier build removes what it cannot read as one. */
const socketOf = (claim: string) => `${claim.replace(/^lock-/, '')}.sock`;

const knock = (path: string) =>
  new Promise<boolean | undefined>((done) => {
    const socket = connect(path, () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') return done(false);
      // More callers wait to be accepted than may. Anything else says nothing about the owner.
      done(code === 'EAGAIN' ? true : undefined);
    });
  });

/** Through a descriptor of its folder, because the path of a socket is limited to 107 bytes. */
async function atSocket<T>(
  directory: string,
  claim: string,
  use: (path: string) => Promise<T>,
): Promise<T | undefined> {
  if (process.platform !== 'linux') return undefined;
  const folder = openSync(directory, 'r');
  try {
    return await use(`/proc/self/fd/${folder}/${socketOf(claim)}`);
  } finally {
    closeSync(folder);
  }
}
