import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Client } from 'pg';
import { freePort } from './free-port';
import { runTied } from './run-tied';

/** Where PostgreSQL for the tests comes from. */
export type PostgresSource =
  | { kind: 'url'; url: string }
  | { kind: 'binaries'; directory: string }
  | { kind: 'none' };

/** Quick and without side effects: tests decide by it what to skip. */
export function findPostgres(): PostgresSource {
  const url = process.env.DATABASE_URL_TEST;
  if (url) return { kind: 'url', url };
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const directories = [
    ...versions.map((version) => join(debian, version, 'bin')),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  const directory = directories.find(
    (one) => existsSync(join(one, 'initdb')) && existsSync(join(one, 'postgres')),
  );
  return directory ? { kind: 'binaries', directory } : { kind: 'none' };
}

export async function startPostgres(
  source: PostgresSource,
): Promise<{ value: string; stop(options: { keepData: boolean }): Promise<void> }> {
  if (source.kind === 'none') throw new Error('there is no PostgreSQL on this machine');
  if (source.kind === 'url') return { value: source.url, stop: async () => undefined };
  return startCluster(source.directory);
}

/** A cluster that was made and not started: how to start it, as often as wanted. */
export interface Cluster {
  directory: string;
  data: string;
  url: string;
  port: number;
  command: string;
  args: string[];
  /** Where and as whom to run it. */
  options: { cwd: string; uid?: number; gid?: number };
}

/** A throw-away cluster: its data may be lost with the machine at any time, so nothing waits for the disk. */
export async function makeCluster(binaries: string, more: Record<string, string> = {}): Promise<Cluster> {
  const user = unprivilegedUser();
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-postgres-'));
  if (user) chownSync(directory, user.uid, user.gid);
  const data = join(directory, 'data');
  const options = { cwd: directory, ...user };
  execFileSync(
    join(binaries, 'initdb'),
    ['-D', data, '-U', 'fanfare', '-E', 'UTF8', '--locale=C', '--auth=trust', '--no-sync'],
    { ...options, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '300',
    log_min_messages: 'fatal',
    ...more,
  };
  return {
    directory,
    data,
    url: `postgres://fanfare@127.0.0.1:${port}/postgres`,
    port,
    command: join(binaries, 'postgres'),
    args: ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    options,
  };
}

async function startCluster(
  binaries: string,
): Promise<{ value: string; stop(options: { keepData: boolean }): Promise<void> }> {
  const { directory, data, url, command, args, options } = await makeCluster(binaries);
  // SIGINT is PostgreSQL's "fast shutdown": it does not wait for clients to leave.
  const server = runTied(command, args, { ...options, stopSignal: 'SIGINT' });
  await server.untilReady(() => answers(url));
  return {
    value: url,
    async stop({ keepData }) {
      await server.stop();
      if (keepData) {
        process.stderr.write(`Databases of failed tests are kept in the cluster ${data}\n`);
      } else {
        rmSync(directory, { recursive: true, force: true });
      }
    },
  };
}

export async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/** PostgreSQL refuses to run as root, so root runs it as somebody else. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
  for (const name of ['postgres', 'nobody']) {
    const fields = lines.find((line) => line.startsWith(`${name}:`))?.split(':');
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) };
  }
  throw new Error('running as root, and neither user postgres nor nobody exists to run the server as');
}
