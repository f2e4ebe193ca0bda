/** Proves that one process at a time has a data directory. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartupError } from '../../src/startup-error';
import { lockDirectory, ownerOf } from '../../src/storage/directory-lock';
import { until } from '../support/until';
import { BUILT_LOCK, TAKE_AND_KEEP } from './taking-process';

describe('the lock on a data directory', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test('a second process is refused, and the error names the owner', async () => {
    const release = await lockDirectory(directory);
    const refused = await refusal(() => lockDirectory(directory));
    expect(refused.message).toContain(`in use by process ${process.pid}`);
    expect(refused.wayOut).toContain('FANFARE_DATA_DIR');
    release();
  });

  test('the owner of what cannot be read is told with the way out', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    expect((await refusal(() => ownerOf(file))).wayOut).toContain('FANFARE_DATA_DIR');
  });

  test('after release the next opener gets it', async () => {
    (await lockDirectory(directory))();
    (await lockDirectory(directory))();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('the lock of a process that is gone is taken over', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'exit');
    writeFileSync(join(directory, 'lock-claim_old'), JSON.stringify({ pid: child.pid, startedAt: '1' }));
    const release = await lockDirectory(directory);
    expect(readdirSync(directory)).not.toContain('lock-claim_old');
    release();
    expect(readdirSync(directory)).toEqual([]);
  });

  test('what a process left that was killed before its claim was there is removed later', async () => {
    for (const name of ['claim_old.sock', 'lock-claim_old.new', 'claim_new.sock', 'other.sock']) {
      writeFileSync(join(directory, name), '');
      if (name !== 'claim_new.sock') utimesSync(join(directory, name), 1, 1);
    }
    (await lockDirectory(directory))();
    expect(readdirSync(directory).sort()).toEqual(['claim_new.sock', 'other.sock']);
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

  test('a lock whose process number now belongs to a younger process is taken over', async () => {
    writeFileSync(join(directory, 'lock-claim_old'), JSON.stringify({ pid: process.pid, startedAt: '1' }));
    (await lockDirectory(directory))();
  });

  test('the lock of a killed process that process 1 of a container never asks about is taken over', async () => {
    const parent = spawn('sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const pid = Number(String(await once(parent.stdout, 'data')));
      const stat = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1] as string;
      await until('it has ended', () => stat().startsWith('Z'));
      const owner = { pid, startedAt: stat().split(' ')[19] };
      writeFileSync(join(directory, 'lock-claim_old'), JSON.stringify(owner));
      (await lockDirectory(directory))();
    } finally {
      parent.kill('SIGKILL');
    }
  });

  test('a directory that cannot be made is a start-up error with a way out', async () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    const refused = await refusal(() => lockDirectory(join(file, 'below')));
    expect(refused.wayOut).toContain('FANFARE_DATA_DIR');
  });

  test('a lock that was cut off while it was written is taken over', async () => {
    writeFileSync(join(directory, 'lock-claim_old'), '{"pid":');
    (await lockDirectory(directory))();
  });

  const elsewhere = { pid: process.pid, startedAt: '1', namespace: 'pid:[1]', boot: 'another' };

  test('the lock of an owner on another machine is kept while its time changes, by whatever clock', async () => {
    const claim = join(directory, 'lock-claim_other');
    writeFileSync(claim, JSON.stringify(elsewhere));
    let hours = 0;
    const touching = setInterval(() => {
      const time = new Date(Date.now() + 3_600_000 * --hours);
      utimesSync(claim, time, time);
    }, 500);
    expect((await refusal(() => lockDirectory(directory))).message).toContain('in use');
    clearInterval(touching);
    expect(readdirSync(directory)).toEqual(['lock-claim_other']);
  }, 60_000);
});

async function refusal(action: () => Promise<unknown>): Promise<StartupError> {
  try {
    await action();
  } catch (error) {
    if (error instanceof StartupError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}
