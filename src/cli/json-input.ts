import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { StartupError } from '../startup-error';

/** Reads a JSON object from a file, or from the standard input for `-`. */
export async function readJsonObject(file: string): Promise<Record<string, unknown>> {
  const source = file === '-' ? 'The standard input' : file;
  const content = file === '-' ? await text(process.stdin) : await readText(file);
  try {
    const value: unknown = JSON.parse(content.replace(/^\uFEFF/, ''));
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch (error) {
    throw new StartupError(
      `${source} is not JSON: ${(error as Error).message}`,
      'Correct it; it must hold one object.',
    );
  }
  throw new StartupError(`${source} is JSON, but no object`, 'It must hold one object.');
}

export async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new StartupError(`${file} cannot be read: ${error.code}`, 'Name a file that this user may read.', {
      cause: error,
    });
  });
}
