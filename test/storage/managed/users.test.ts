import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Client } from 'pg';
import { createLog } from '../../../src/log';
import { findPostgresBinaries } from '../../../src/storage/managed/find-binaries';
import { type ManagedPostgres, startManagedPostgres } from '../../../src/storage/managed/managed-postgres';
import { writeScript } from '../../temporal/download-site';
import { startOwner } from './owner-process';

/** Whom the managed server runs as. Only root can try all of it. */
const isRoot = process.getuid?.() === 0;
/** A user whom every system has and few programs run as, and one whom /etc/passwd does not name. */
const OTHER = { uid: 2, gid: 2 };
const NAMELESS = { uid: 12_345, gid: 12_345 };

let base: string;
let dataDir: string;
let running: ManagedPostgres[];

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'fanfare-users-'));
  dataDir = join(base, 'data');
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((server) => server.stop()));
  rmSync(base, { recursive: true, force: true, maxRetries: 5 });
});

async function start(
  env: Record<string, string | undefined> = { PATH: process.env.PATH },
): Promise<ManagedPostgres> {
  const server = await startManagedPostgres({ dataDir, log: createLog('silent'), env });
  running.push(server);
  return server;
}

/** A PATH on which no user namespace can be made, as where the kernel or a container forbids it. */
function withoutNamespaces(): { PATH: string } {
  const folder = join(base, 'bin');
  mkdirSync(folder);
  chmodSync(base, 0o755);
  writeScript(join(folder, 'unshare'), 'echo "unshare failed: Operation not permitted" >&2', 'exit 1');
  return { PATH: `${folder}:${process.env.PATH}` };
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const { rowCount } = await client.query('select 1');
  await client.end();
  return rowCount === 1;
}

const ownerOf = (...path: string[]) => statSync(join(dataDir, ...path)).uid;

/** The programs where every user can read them: npm may have installed them in a folder of root's alone. */
async function readablePrograms(): Promise<string> {
  const { directory } = await findPostgresBinaries({ env: { PATH: process.env.PATH } });
  chmodSync(base, 0o755);
  cpSync(dirname(directory), join(base, 'programs'), { recursive: true, verbatimSymlinks: true });
  return join(base, 'programs', basename(directory));
}

// Another user is nothing to become for one who is not root.
(isRoot ? describe : describe.skip)('as root', () => {
  test('the server runs in a user namespace, with files of root, in a folder that only root may enter', async () => {
    mkdirSync(dataDir, { mode: 0o700 });
    chmodSync(base, 0o700);
    const server = await start();
    expect(await answers(server.url)).toBe(true);
    expect([ownerOf('postgres'), ownerOf('postgres', 'PG_VERSION')]).toEqual([0, 0]);
  });

  test('without namespaces it runs as the owner of the data directory', async () => {
    const FANFARE_POSTGRES_BIN = await readablePrograms();
    const env = { ...withoutNamespaces(), FANFARE_POSTGRES_BIN };
    mkdirSync(dataDir, { mode: 0o700 });
    chownSync(dataDir, OTHER.uid, OTHER.gid);
    const server = await start(env);
    expect(await answers(server.url)).toBe(true);
    expect([ownerOf('postgres'), ownerOf('postgres', 'PG_VERSION')]).toEqual([OTHER.uid, OTHER.uid]);

    await server.stop();
    // Whoever owns the data opens it, also when a namespace could be made.
    expect(await answers((await start({ PATH: process.env.PATH, FANFARE_POSTGRES_BIN })).url)).toBe(true);
  });

  test('without namespaces and in a directory of root, it runs as a user of servers', async () => {
    const FANFARE_POSTGRES_BIN = await readablePrograms();
    const server = await start({ ...withoutNamespaces(), FANFARE_POSTGRES_BIN });
    expect(await answers(server.url)).toBe(true);
    expect(ownerOf()).toBe(0);
    expect(ownerOf('postgres')).not.toBe(0);
    // That user's group may pass through by name, and others may not.
    expect(statSync(dataDir).mode & 0o777).toBe(0o710);
    expect(statSync(join(dataDir, 'postgres-run')).mode & 0o077).toBe(0);
  });

  test('without namespaces and out of reach of every other user, it is one error with the ways out', async () => {
    const env = withoutNamespaces();
    chmodSync(base, 0o700);
    await expect(start(env)).rejects.toMatchObject({
      name: 'StartupError',
      message: expect.stringMatching(/does not run as root.*no user namespace/),
      wayOut: expect.stringMatching(/DATABASE_URL/),
    });
  });

  test('data that root made in a namespace is not opened where there is none, and the error says how', async () => {
    await (await start()).stop();
    await expect(start(withoutNamespaces())).rejects.toMatchObject({
      name: 'StartupError',
      message: expect.stringContaining('belongs to root'),
      wayOut: expect.stringContaining('chown -R'),
    });
  });

  for (const [title, user] of [
    ['another user', OTHER],
    ['a user id without a name', NAMELESS],
  ] as const) {
    test(`${title} runs it as themselves`, async () => {
      mkdirSync(dataDir, { mode: 0o700 });
      chownSync(dataDir, user.uid, user.gid);
      const FANFARE_POSTGRES_BIN = await readablePrograms();
      const env = { PATH: process.env.PATH, FANFARE_POSTGRES_BIN };
      const owner = await startOwner(dataDir, { as: user, env });
      expect(await answers(owner.url)).toBe(true);
      expect(ownerOf('postgres')).toBe(user.uid);
      await owner.kill();
    });
  }

  test.each([
    ['write', 0o755],
    ['enter', 0o700],
  ])('a directory that the user cannot %s is one error', async (_verb, mode) => {
    mkdirSync(dataDir, { mode });
    chmodSync(base, 0o755);
    const owner = startOwner(dataDir, { as: OTHER, env: { PATH: process.env.PATH } });
    await expect(owner).rejects.toThrow(/cannot be written: EACCES/);
  });

  test('a disk without room is one error that says so, and leaves nothing half-made', async () => {
    mkdirSync(dataDir);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', dataDir]);
    } catch {
      // Containers may not mount; there is no disk to fill then.
      return;
    }
    try {
      await expect(start()).rejects.toMatchObject({
        name: 'StartupError',
        message: expect.stringContaining('No space left on device'),
        wayOut: expect.stringMatching(/Make room on the disk/),
      });
      expect(() => ownerOf('postgres')).toThrow(/ENOENT/);
    } finally {
      execFileSync('umount', [dataDir]);
    }
  });
});
