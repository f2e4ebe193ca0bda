import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { StartupError } from '../startup-error';

const PROGRESS_MS = 200;

/** A file to be sent unchanged; `onProgress` gets the number of bytes read so far. */
export function openFile(file: string, onProgress: ((bytes: number) => void) | undefined): Readable {
  const stream = createReadStream(file);
  // A data listener would start the stream before there is a reader.
  const timer = setInterval(() => onProgress?.(stream.bytesRead), PROGRESS_MS);
  stream.once('close', () => {
    clearInterval(timer);
    onProgress?.(stream.bytesRead);
  });
  return stream;
}

/** Writes under another name until the file is complete, because half a report looks like a report. */
export async function writeWhole(answer: Response, file: string): Promise<void> {
  const part = `${file}.part`;
  const body = answer.body as Parameters<typeof Readable.fromWeb>[0] | null;
  try {
    await pipeline(body ? Readable.fromWeb(body) : Readable.from([]), createWriteStream(part));
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    const { code, path } = error as NodeJS.ErrnoException;
    if (path === undefined && code !== 'ENOSPC') throw error;
    throw new StartupError(`${file} cannot be written: ${code}`, 'Name a file that this user may write.', {
      cause: error,
    });
  }
}
