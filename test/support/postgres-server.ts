import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { findPostgresBinaries } from '../../src/storage/managed/find-binaries';
import { chooseRunAs } from '../../src/storage/managed/run-as';
import { freePort } from './free-port';
import { runTied } from './run-tied';
import { keepOnDisk, makeWorkDirectory } from './work-directory';

const run = promisify(execFile);

/** The server that DATABASE_URL_TEST names, or one of the run's own. */
export async function startPostgres(): Promise<{
  value: string;
  stop(options: { keepData: boolean }): Promise<void>;
}> {
  const url = process.env.DATABASE_URL_TEST;
  if (url) return { value: url, stop: async () => undefined };
  return startCluster();
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
export async function makeCluster(more: Record<string, string> = {}): Promise<Cluster> {
  const { initdb, postgres } = await findPostgresBinaries({ env: process.env });
  const directory = makeWorkDirectory('postgres');
  const data = join(directory, 'data');
  const { prefix, ...user } = await chooseRunAs({ dataDir: directory, data, postgres, env: process.env });
  mkdirSync(data, { mode: 0o700 });
  if (user.uid !== undefined && user.gid !== undefined) chownSync(data, user.uid, user.gid);
  const options = { cwd: '/', ...user };
  const [maker = '', ...makerArgs] = [
    ...[...prefix, initdb, '-D', data, '-U', 'fanfare', '-E', 'UTF8'],
    ...['--locale=C', '--auth=trust', '--no-sync'],
  ];
  await run(maker, makerArgs, options);
  const port = await freePort();
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    max_connections: '300',
    // Its directory may be in memory.
    max_wal_size: '128MB',
    min_wal_size: '32MB',
    log_min_messages: 'fatal',
    ...more,
  };
  const [command = '', ...args] = [...prefix, postgres, '-D', data];
  return {
    directory,
    data,
    url: `postgres://fanfare@127.0.0.1:${port}/postgres`,
    port,
    command,
    args: [...args, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    options,
  };
}

async function startCluster(): ReturnType<typeof startPostgres> {
  const { directory, url, command, args, options } = await makeCluster();
  // SIGINT is PostgreSQL's "fast shutdown": it does not wait for clients to leave.
  const server = runTied(command, args, { ...options, stopSignal: 'SIGINT' });
  await server.untilReady(() => answers(url));
  return {
    value: url,
    async stop({ keepData }) {
      await server.stop();
      if (keepData) {
        const kept = join(keepOnDisk(directory), 'data');
        process.stderr.write(`Databases of failed tests are kept in the cluster ${kept}\n`);
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
