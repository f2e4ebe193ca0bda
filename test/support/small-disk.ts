import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readlinkSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A data directory on a disk of its own, in a mount namespace, so that it needs no rights and ends with the test. */
export interface SmallDisk {
  /** A command in front of another one, which then finds the disk at the directory. */
  enter: readonly string[];
  /** The same directory as processes outside find it. */
  seen: string;
  /** Process ids of what runs on it. */
  processes(): number[];
  resize(mebibytes: number): void;
  /** Takes all the room there is now. */
  fill(): void;
  empty(): Promise<void>;
  remove(): Promise<void>;
}

const isRoot = process.getuid?.() === 0;

export async function mountSmallDisk(directory: string, mebibytes: number): Promise<SmallDisk> {
  const user = isRoot ? [] : ['--user', '--map-root-user'];
  const mount = 'mount -t tmpfs -o "size=$1m,mode=700" tmpfs "$0" && echo mounted && exec cat';
  const holder: ChildProcess = spawn(
    'unshare',
    [...user, '--mount', 'sh', '-c', mount, directory, `${mebibytes}`],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  await Promise.race([
    once(holder.stdout as NodeJS.ReadableStream, 'data'),
    once(holder, 'exit').then(([code]) => {
      throw new Error(`no disk could be mounted: unshare ended with ${code}`);
    }),
  ]);
  const inside = isRoot ? ['--mount'] : ['--user', '--preserve-credentials', '--mount'];
  const enter = ['nsenter', '--target', `${holder.pid}`, ...inside, '--'];
  const [program = '', ...args] = enter;
  const run = (...command: string[]) => execFileSync(program, [...args, ...command]).toString();
  const seen = `/proc/${holder.pid}/root${directory}`;
  const filling = join(seen, 'filling');
  return {
    enter,
    seen,
    processes: () => {
      const own = readlinkSync(`/proc/${holder.pid}/ns/mnt`);
      const isOnIt = (pid: string) => {
        try {
          return readlinkSync(`/proc/${pid}/ns/mnt`) === own;
        } catch {
          return false;
        }
      };
      const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOnIt(name));
      return pids.map(Number).filter((pid) => pid !== holder.pid);
    },
    // With its name, so that `mount` does not repeat options that are those of another user outside.
    resize: (size) => void run('mount', '-o', `remount,size=${size}m`, 'tmpfs', directory),
    fill() {
      const { bavail, bsize } = statfsSync(seen);
      try {
        if (bavail > 0) appendFileSync(filling, Buffer.alloc(bavail * bsize));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    },
    empty: () => rm(filling, { force: true }),
    async remove() {
      holder.stdin?.end();
      if (holder.exitCode === null) await once(holder, 'exit');
    },
  };
}
