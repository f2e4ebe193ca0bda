import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SupervisedProcess, startSupervised } from '../../src/supervision/supervised-process';
import { until } from '../support/until';
import { writeScript } from '../temporal/download-site';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'fanfare-supervised-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

test('servers that end at once leave their code, their last words and no process', async () => {
  const server = join(directory, 'server');
  writeScript(server, 'echo "last words" >&2', 'exit 4');
  const ends: Promise<string>[] = [];
  // Shells beside each other: one that runs alone is rarely overtaken by the server that it has started.
  for (let i = 0; i < 100; i++) ends.push(endOf(start(server, `pid-${i}`)));
  expect(new Set(await Promise.all(ends))).toEqual(new Set(['4: last words']));
  await until('all watchdogs are gone', () => watchdogs() === 0);
}, 30_000);

test('a server that ends by the signal of its watchdog ends with its own code', async () => {
  const server = join(directory, 'server');
  // Slower than the watchdog's `wait`, which the signal interrupts.
  writeScript(
    server,
    "trap 'sleep 0.2; echo stopped; exit 9' TERM",
    'echo ready',
    'while :; do sleep 0.05; done',
  );
  const running = start(server, 'pid');
  await until('the server runs', () => running.tail() === 'ready');
  await running.stop();
  expect(await endOf(running)).toBe('9: ready\nstopped');
}, 20_000);

function start(command: string, pidFile: string): SupervisedProcess {
  return startSupervised(command, [], {
    pidFile: join(directory, pidFile),
    cwd: directory,
    signals: { stop: 'TERM', atOnce: 'KILL' },
  });
}

async function endOf(server: SupervisedProcess): Promise<string> {
  const { code } = await server.ended;
  return `${code}: ${server.tail()}`;
}

const watchdogs = (): number => commandLines().filter((line) => line.includes(join(directory, 'pid'))).length;

/** A bare Debian has no `ps`, and macOS no `/proc`. */
function commandLines(): string[] {
  if (process.platform !== 'linux') {
    return execFileSync('ps', ['-ww', '-axo', 'args='], { encoding: 'utf8' }).split('\n');
  }
  return readdirSync('/proc').map((name) => {
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  });
}
