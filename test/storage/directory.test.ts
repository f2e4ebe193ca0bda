import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { sql } from 'kysely';
import { StartupError } from '../../src/startup-error';
import { lockDirectory } from '../../src/storage/directory-lock';
import { openStorage } from '../../src/storage/storage';
import { describeEachEngine } from '../support/storage';

const BUILT_LOCK = resolve(__dirname, '../../dist/src/storage/directory-lock.js');
const BUILT_STORAGE = resolve(__dirname, '../../dist/src/storage/storage.js');

describe('the lock on a data directory', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test('a second opener is refused and told who has it', () => {
    const release = lockDirectory(directory);
    const refused = refusal(() => lockDirectory(directory));
    expect(refused.message).toContain(`in use by process ${process.pid}`);
    expect(refused.wayOut).toContain('FANFARE_DATA_DIR');
    release();
  });

  test('one that cannot be made or written ends the start with what to do', async () => {
    const file = join(directory, 'a-file');
    writeFileSync(file, '');
    const opening = openStorage({ dataDir: join(file, 'data') });
    await expect(opening).rejects.toThrow(/a-file\/data cannot be written: ENOTDIR/);
    await expect(opening).rejects.toMatchObject({ wayOut: expect.stringContaining('FANFARE_DATA_DIR') });
  });

  test('after release the next opener gets it', () => {
    lockDirectory(directory)();
    lockDirectory(directory)();
  });

  test('the lock of a process that is gone is taken over', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    writeFileSync(join(directory, 'lock-claim_old'), JSON.stringify({ pid: child.pid, startedAt: '1' }));
    const release = lockDirectory(directory);
    expect(readdirSync(directory)).not.toContain('lock-claim_old');
    release();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('of many that find the lock of a dead process at once, never two get it', async () => {
    for (let round = 0; round < 3; round++) {
      const place = join(directory, String(round));
      mkdirSync(place);
      writeFileSync(join(place, 'lock-claim_old'), JSON.stringify({ pid: process.pid, startedAt: '1' }));
      const children = Array.from({ length: 6 }, () =>
        spawn(process.execPath, ['-e', TAKE_AND_KEEP, BUILT_LOCK, place], {
          stdio: ['pipe', 'pipe', 'ignore'],
        }),
      );
      const next = (child: (typeof children)[number]) =>
        once(child.stdout, 'data').then(([text]) => String(text));
      await Promise.all(children.map(next));
      const answers = Promise.all(children.map(next));
      for (const child of children) child.stdin.write('go');
      expect((await answers).filter((answer) => answer === 'taken').length).toBeLessThanOrEqual(1);
      for (const child of children) child.kill('SIGKILL');
    }
  });

  test('a lock whose process number now belongs to a younger process is taken over', () => {
    writeFileSync(join(directory, 'lock-claim_old'), JSON.stringify({ pid: process.pid, startedAt: '1' }));
    lockDirectory(directory)();
  });

  test('a directory that cannot be made is a start-up error with a way out', () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    const refused = refusal(() => lockDirectory(join(file, 'below')));
    expect(refused.wayOut).toContain('FANFARE_DATA_DIR');
  });

  test('a lock that was cut off while it was written is taken over', () => {
    writeFileSync(join(directory, 'lock-claim_old'), '{"pid":');
    lockDirectory(directory)();
  });
});

describeEachEngine('opening', (engine) => {
  if (engine.name === 'embedded') {
    test('an embedded database in use is refused and stays usable for its owner', async () => {
      const place = await engine.place({ migrated: true });
      const owner = await openStorage(place);
      await expect(openStorage(place)).rejects.toThrow('in use by process');
      await sql`select 1`.execute(owner.tables());
      await owner.close();
    });

    test('a damaged embedded database is a start-up error, and the directory is free again', async () => {
      const place = await engine.place({ migrated: true });
      const storage = await openStorage(place);
      await storage.close();
      writeFileSync(join(place.dataDir, 'database/global/pg_control'), 'damaged');
      for (let tries = 0; tries < 2; tries++) {
        const refused = await openStorage(place).then(
          () => undefined,
          (error) => error as StartupError,
        );
        expect(refused).toBeInstanceOf(StartupError);
        expect(refused?.message).toContain('cannot be opened');
        expect(refused?.wayOut).toContain('backup');
      }
    });

    test('what a process committed before kill -9 is there for the next one', async () => {
      const place = await engine.place({ migrated: true });
      const child = spawn(process.execPath, ['-e', WRITE_UNTIL_KILLED, BUILT_STORAGE, place.dataDir]);
      let committed = '';
      for await (const chunk of child.stdout) {
        committed = String(chunk).trim().split('\n').at(-1) ?? '';
        if (Number(committed) >= 20) break;
      }
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');

      const storage = await openStorage(place);
      const { rows } = await sql<{ count: number }>`select count(*) as count from workspaces`.execute(
        storage.tables(),
      );
      await storage.close();
      expect(rows[0]?.count).toBeGreaterThanOrEqual(Number(committed));
    });
  }

  if (engine.name === 'postgres') {
    test('a server that does not answer is a start-up error', async () => {
      const opening = openStorage({ dataDir: tmpdir(), databaseUrl: 'postgres://nobody@127.0.0.1:1/none' });
      await expect(opening).rejects.toThrow('does not answer');
    });
  }
});

const TAKE_AND_KEEP = `
  const [built, place] = process.argv.slice(1);
  const { lockDirectory } = require(built);
  process.stdin.once('data', () => {
    try {
      lockDirectory(place);
      process.stdout.write('taken');
    } catch {
      process.stdout.write('refused');
    }
  });
  process.stdout.write('ready');
`;

const WRITE_UNTIL_KILLED = `
  const [built, dataDir] = process.argv.slice(1);
  const { sql } = require(require.resolve('kysely', { paths: [built] }));
  require(built).openStorage({ dataDir }).then(async (storage) => {
    for (let i = 1; ; i++) {
      await sql\`insert into workspaces (id, name) values (\${String(i)}, 'w')\`.execute(storage.tables());
      console.log(i);
    }
  });
`;

function refusal(action: () => unknown): StartupError {
  try {
    action();
  } catch (error) {
    if (error instanceof StartupError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}
