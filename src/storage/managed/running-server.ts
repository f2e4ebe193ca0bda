import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ownerOf } from '../directory-lock';

/** The record of a running managed server, for other processes of this machine. */
export interface RunningPostgres {
  url: string;
  /** Process id of the server itself. */
  pid: number;
  version: string;
}

const fileOf = (dataDir: string) => join(dataDir, 'postgres.json');

export async function writeRunning(dataDir: string, running: RunningPostgres): Promise<void> {
  const file = fileOf(dataDir);
  await writeFile(`${file}.new`, JSON.stringify(running), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

export async function removeRunning(dataDir: string): Promise<void> {
  await rm(fileOf(dataDir), { force: true });
}

/** The server that another living process runs on this data directory. */
export async function findRunning(dataDir: string): Promise<RunningPostgres | undefined> {
  const place = resolve(dataDir);
  if ((await ownerOf(place)) === undefined) return undefined;
  const text = await readFile(fileOf(place), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as RunningPostgres);
}
