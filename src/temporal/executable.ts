import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { StartupError } from '../startup-error';
import { buildExecutable, downloadExecutable, type ObtainOptions } from './obtain-executable';

const run = promisify(execFile);

/** With a cold page cache and a busy machine, the first start of a 200 MB executable is slow. */
const VERSION_TIMEOUT_MS = 20_000;
const DOWNLOAD_URL = 'https://temporal.download';

export interface FindExecutableOptions {
  /** TEMPORAL_CLI_PATH: when set, nothing else is tried. */
  cliPath?: string | undefined;
  /** Where a downloaded or built executable is kept; see cacheDirectory(). */
  cacheDir: string;
  /** For PATH, proxies, and what Go needs. */
  env: Record<string, string | undefined>;
  /**
   * Called with the present step and the time so far, about once a second while an executable is downloaded or
   * built.
   */
  onProgress?: (text: string) => void;
  signal?: AbortSignal | undefined;
  /** Temporal's download site; a test sets its own. */
  downloadUrl?: string;
}

export interface TemporalExecutable {
  path: string;
  version: string;
  origin: 'TEMPORAL_CLI_PATH' | 'PATH' | 'cache' | 'download' | 'go';
}

/**
 * Finds the `temporal` executable, or obtains it once into the cache: TEMPORAL_CLI_PATH, PATH, cache, download,
 * Go build. The executable found has answered `--version`. An interrupted attempt leaves nothing that looks
 * like the executable, because the last step is a rename.
 */
export async function findTemporalExecutable(options: FindExecutableOptions): Promise<TemporalExecutable> {
  const { found, tried } = await lookForExecutable(options);
  return found ?? obtain(options, tried);
}

/** The same without obtaining one: returns what exists, or where it was looked for and why that failed. */
export async function lookForExecutable({
  cliPath,
  cacheDir,
  env,
}: Pick<FindExecutableOptions, 'cliPath' | 'cacheDir' | 'env'>): Promise<{
  found?: TemporalExecutable;
  tried: string[];
}> {
  const tried: string[] = [];
  if (cliPath) return { found: await fromCliPath(cliPath), tried };
  for (const [origin, candidates] of [
    ['PATH', pathCandidates(env)],
    ['cache', [join(cacheDir, 'temporal')]],
  ] as const) {
    let isThere = false;
    for (const path of candidates) {
      if (!(await isExecutable(path))) continue;
      isThere = true;
      const version = await versionOf(path);
      if (version.ok) return { found: { path, version: version.text, origin }, tried };
      tried.push(`${origin}: ${path} does not work: ${version.why}`);
    }
    if (!isThere) tried.push(`${origin}: no executable called temporal`);
  }
  return { tried };
}

/** The user's cache directory for this program, by the XDG rules: a relative XDG_CACHE_HOME is ignored. */
export function cacheDirectory(env: Record<string, string | undefined>): string {
  const xdg = env.XDG_CACHE_HOME;
  if (xdg && isAbsolute(xdg)) return join(xdg, 'fanfare');
  if (env.HOME) return join(env.HOME, '.cache', 'fanfare');
  throw new StartupError(
    'There is no cache directory: neither XDG_CACHE_HOME nor HOME is set',
    'Set XDG_CACHE_HOME to a directory that this user can write.',
  );
}

async function fromCliPath(path: string): Promise<TemporalExecutable> {
  const version = await versionOf(path);
  if (version.ok) return { path, version: version.text, origin: 'TEMPORAL_CLI_PATH' };
  throw new StartupError(
    `TEMPORAL_CLI_PATH is ${path}, which is not a working temporal executable: ${version.why}`,
    'Set it to the path of the executable itself, or unset it to have one looked for.',
  );
}

function pathCandidates(env: Record<string, string | undefined>): string[] {
  const directories = (env.PATH ?? '').split(delimiter).filter((directory) => isAbsolute(directory));
  return directories.map((directory) => join(directory, 'temporal'));
}

async function obtain(options: FindExecutableOptions, tried: string[]): Promise<TemporalExecutable> {
  const { cacheDir, env, signal } = options;
  await prepareCache(cacheDir);
  const ways = [
    ['download', (way: ObtainOptions) => downloadExecutable(way, options.downloadUrl ?? DOWNLOAD_URL)],
    ['go', buildExecutable],
  ] as const;
  for (const [origin, way] of ways) {
    signal?.throwIfAborted();
    const directory = await mkdtemp(join(cacheDir, `${UNFINISHED}${process.pid}-`));
    try {
      const made = await way({ directory, env, onProgress: options.onProgress ?? (() => {}), signal });
      const version = await versionOf(made);
      if (!version.ok) throw new Error(`the result does not work: ${version.why}`);
      const path = join(cacheDir, 'temporal');
      await rename(made, path);
      return { path, version: version.text, origin };
    } catch (error) {
      signal?.throwIfAborted();
      tried.push(`${origin}: ${(error as Error).message}`);
    } finally {
      await removeTree(directory);
    }
  }
  throw new StartupError(
    `The temporal executable was not found and could not be obtained.\n${tried.map((line) => `  ${line}`).join('\n')}`,
    'One of: install the Temporal CLI and put it on the PATH or set TEMPORAL_CLI_PATH; ' +
      'install Go 1.25 or newer with access to its module proxy; ' +
      'or set TEMPORAL_ADDRESS to a Temporal server that is already running.',
  );
}

const UNFINISHED = 'unfinished-';

/** Creates the cache and removes what attempts of killed processes left in it (a Go build: 700 MB). */
async function prepareCache(cacheDir: string): Promise<void> {
  try {
    await mkdir(cacheDir, { recursive: true });
    await access(cacheDir, constants.W_OK);
  } catch (error) {
    throw new StartupError(
      `The cache directory ${cacheDir} cannot be written: ${(error as Error).message}`,
      'Give this user write access to it, or set XDG_CACHE_HOME to another directory.',
      { cause: error },
    );
  }
  for (const name of await readdir(cacheDir)) {
    const owner = name.startsWith(UNFINISHED) ? Number(name.split('-')[1]) : 0;
    if (owner > 0 && !isRunning(owner)) await removeTree(join(cacheDir, name));
  }
}

/** Go makes its module cache read-only, which would keep it from being removed. */
async function removeTree(directory: string): Promise<void> {
  await run('chmod', ['-R', 'u+w', directory]).catch(() => {});
  await rm(directory, { recursive: true, force: true });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

async function versionOf(path: string): Promise<{ ok: true; text: string } | { ok: false; why: string }> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: VERSION_TIMEOUT_MS, killSignal: 'SIGKILL' });
    const line = stdout.trim().split('\n')[0] ?? '';
    if (/^temporal version /.test(line)) return { ok: true, text: line.slice('temporal version '.length) };
    return { ok: false, why: '--version does not answer like the Temporal CLI' };
  } catch (error) {
    const { code, killed } = error as { code?: string | number | null; killed?: boolean };
    if (killed) return { ok: false, why: '--version did not answer in time' };
    return { ok: false, why: typeof code === 'string' ? code : `--version ended with code ${code}` };
  }
}
