import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BoundedCache } from '../domain/bounded-cache';
import { bytesOf, samplesOf } from './sample-bytes';

const SUFFIX = '.pcm';
/** Another process may still be writing its file; after this time it counts as dead. */
const ABANDONED_MS = 3_600_000;

export interface SpeechCacheOptions {
  memoryBytesMax: number;
  /**
   * Kept across restarts, and shared by processes. Only the owner can read its files, because they hold spoken
   * texts.
   */
  directory?: { path: string; bytesMax: number };
}

export interface SpeechCache {
  /**
   * Returns the speech cached for this description, otherwise the result of `make`, which runs once for all who
   * wait.
   */
  get(description: readonly string[], make: () => Promise<Int16Array>): Promise<Int16Array>;
}

/**
 * Caches speech by its text and voice. Failures are not cached. A directory that cannot be read or written
 * costs only time, because everything in it can be generated again.
 */
export function createSpeechCache({ memoryBytesMax, directory }: SpeechCacheOptions): SpeechCache {
  const memory = new BoundedCache<Int16Array>(memoryBytesMax);
  const inProgress = new Map<string, Promise<Int16Array>>();
  const files = directory && createSpeechFiles(directory);

  async function obtain(key: string, make: () => Promise<Int16Array>): Promise<Int16Array> {
    const stored = await files?.read(key);
    const samples = stored ?? (await make());
    memory.set(key, samples, samples.byteLength);
    if (!stored) await files?.write(key, samples);
    return samples;
  }

  return {
    get(description, make) {
      // As JSON, because different lists of texts then never look the same.
      const key = createHash('sha256').update(JSON.stringify(description)).digest('hex');
      const kept = memory.get(key);
      if (kept) return Promise.resolve(kept);
      const running = inProgress.get(key);
      if (running) return running;
      const started = obtain(key, make).finally(() => inProgress.delete(key));
      inProgress.set(key, started);
      return started;
    },
  };
}

function createSpeechFiles({ path, bytesMax }: { path: string; bytesMax: number }) {
  /** The directory is measured at first, and again whenever a tenth of its size was written. */
  let writtenSinceMeasured = Number.POSITIVE_INFINITY;

  return {
    async read(key: string): Promise<Int16Array | undefined> {
      const file = join(path, key + SUFFIX);
      try {
        const { size } = await stat(file);
        if (size % 2 !== 0 || size > bytesMax) return undefined;
        const bytes = await readFile(file);
        const now = new Date();
        await utimes(file, now, now);
        return samplesOf(bytes);
      } catch {
        return undefined;
      }
    },

    async write(key: string, samples: Int16Array): Promise<void> {
      if (samples.byteLength > bytesMax) return;
      const bytes = bytesOf(samples);
      const unfinished = join(path, `${randomUUID()}.tmp`);
      try {
        await mkdir(path, { recursive: true, mode: 0o700 });
        await writeFile(unfinished, bytes, { mode: 0o600 });
        // A file gets its name only when it is complete.
        await rename(unfinished, join(path, key + SUFFIX));
        writtenSinceMeasured += bytes.length;
        if (writtenSinceMeasured <= bytesMax / 10) return;
        writtenSinceMeasured = 0;
        await makeRoom(path, bytesMax);
      } catch {
        await rm(unfinished, { force: true }).catch(() => undefined);
      }
    },
  };
}

/** Deletes the files used longest ago until the rest fits, and unfinished files of dead processes. */
async function makeRoom(path: string, bytesMax: number): Promise<void> {
  const files: { file: string; size: number; usedAt: number }[] = [];
  for (const name of await readdir(path)) {
    const file = join(path, name);
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile()) continue;
    if (name.endsWith(SUFFIX)) files.push({ file, size: found.size, usedAt: found.mtimeMs });
    else if (name.endsWith('.tmp') && Date.now() - found.mtimeMs > ABANDONED_MS)
      await rm(file, { force: true });
  }
  files.sort((a, b) => a.usedAt - b.usedAt);
  let bytes = files.reduce((sum, { size }) => sum + size, 0);
  for (const { file, size } of files) {
    if (bytes <= bytesMax) return;
    await rm(file, { force: true });
    bytes -= size;
  }
}
