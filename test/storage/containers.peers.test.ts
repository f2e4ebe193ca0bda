import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockDirectory, ownerOf } from '../../src/storage/directory-lock';
import { BUILT_LOCK, TAKE_AND_KEEP } from './taking-process';

describe('a data directory that two containers share', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  test('an owner in another container keeps the directory while it lives, also frozen', async () => {
    const first = await startContained(directory);
    try {
      expect(await first.take()).toBe('taken');
      expect(await ownerOf(directory)).toBeDefined();
      expect(await takeContained()).toBe('refused');
      process.kill(first.pid, 'SIGSTOP');
      expect(await takeContained()).toBe('refused');
      await first.kill();
      const since = Date.now();
      expect(await takeContained()).toBe('taken');
      expect(Date.now() - since).toBeLessThan(8_000);
    } finally {
      await first.kill();
    }
  }, 60_000);

  async function takeContained(): Promise<string> {
    const one = await startContained(directory);
    return one.take().finally(() => one.kill());
  }

  test('a lock from before a restart of the machine is taken over after 10 s, which it says', async () => {
    writeFileSync(
      join(directory, 'lock-claim_old'),
      JSON.stringify({ pid: process.pid, startedAt: '1', namespace: 'pid:[1]', boot: 'another' }),
    );
    const said: string[] = [];
    const since = performance.now();
    const release = await lockDirectory(directory, (text) => said.push(text));
    expect(performance.now() - since).toBeLessThan(15_000);
    expect(said).toEqual([expect.stringMatching(/^waiting up to 10 s for a sign of process \d+/)]);
    release();
    expect(readdirSync(directory)).toEqual([]);
  }, 30_000);
});

/** A process with process ids of its own, as in a container, that takes the directory when it is told to. */
async function startContained(directory: string) {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const own = ['--pid', '--fork', '--mount-proc', '--kill-child'];
  const program = [process.execPath, '-e', TAKE_AND_KEEP, BUILT_LOCK, directory];
  const child = spawn('unshare', [...user, ...own, ...program], { stdio: ['pipe', 'pipe', 'ignore'] });
  const next = () => once(child.stdout, 'data').then(([text]) => String(text));
  await next();
  const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'));
  return {
    pid,
    take: () => {
      const answer = next();
      child.stdin.write('go');
      return answer;
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      process.kill(pid, 'SIGKILL');
      await once(child, 'exit');
    },
  };
}
