/** Proves that one process at a time has a data directory. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { StartupError } from '../../src/startup-error';
import { lockDirectory, ownerOf } from '../../src/storage/directory-lock';

const BUILT_LOCK = resolve(__dirname, '../../dist/src/storage/directory-lock.js');

describe('the lock on a data directory', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test('a second process is refused, and the error names the owner', () => {
    const release = lockDirectory(directory);
    const refused = refusal(() => lockDirectory(directory));
    expect(refused.message).toContain(`in use by process ${process.pid}`);
    expect(refused.wayOut).toContain('FANFARE_DATA_DIR');
    release();
  });

  test('the owner of what cannot be read is told with the way out', () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    expect(refusal(() => ownerOf(file)).wayOut).toContain('FANFARE_DATA_DIR');
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

function refusal(action: () => unknown): StartupError {
  try {
    action();
  } catch (error) {
    if (error instanceof StartupError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}
