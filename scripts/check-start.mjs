import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/**
 * Starts the product as README tells newcomers to, on an empty data directory, and holds it to what README says: it
 * answers, runs the demo to its end, and leaves no process behind. The first start may have to install, build and
 * obtain Temporal's executable; the second has everything.
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const STARTS = [
  { title: 'the first start', readyMs: 15 * 60_000, demoMs: 16 * 60_000 },
  { title: 'a start with everything there', readyMs: 30_000, demoMs: 60_000 },
];
const ENDED_MS = 20_000;
const POLL_MS = 100;

async function main() {
  for (const start of STARTS) {
    const dataDir = mkdtempSync(join(tmpdir(), 'fanfare-start-'));
    try {
      await checkStart(start, dataDir);
    } finally {
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

async function checkStart({ title, readyMs, demoMs }, dataDir) {
  const port = await freePort();
  const env = { ...process.env, FANFARE_DATA_DIR: dataDir, FANFARE_HTTP_PORT: String(port) };
  const began = Date.now();
  const child = spawn('npm', ['start'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const exited = once(child, 'exit');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const until = async (what, limitMs, isSo) => {
    while (!(await isSo())) {
      if (child.exitCode !== null)
        throw new Error(`npm start ended with ${child.exitCode} before ${what}:\n${output}`);
      if (Date.now() - began > limitMs)
        throw new Error(`${what} took more than ${limitMs / 1_000} s:\n${output}`);
      await delay(POLL_MS);
    }
    return ((Date.now() - began) / 1_000).toFixed(1);
  };
  let processes = [];
  try {
    const ready = await until('being ready', readyMs, () => answersAt(port));
    const demo = await until("the demo's end", demoMs, () => /^Demo \S+ \(\S+\) is completed/m.test(output));
    process.stdout.write(`${title}: ready after ${ready} s, the demo completed after ${demo} s\n`);
  } finally {
    processes = [child.pid, ...descendantsOf(child.pid)].map((pid) => ({ pid, born: birthOf(pid) }));
    signal(-child.pid, 'SIGTERM');
    await Promise.race([exited, delay(ENDED_MS)]);
  }
  const left = await leftOf(processes);
  for (const { pid } of left) signal(pid, 'SIGKILL');
  if (left.length > 0) {
    throw new Error(
      `${title}: left behind ${ENDED_MS / 1_000} s after SIGTERM: ${left.map(({ name }) => name).join(', ')}\n${output}`,
    );
  }
}

async function leftOf(processes) {
  const limit = Date.now() + ENDED_MS;
  for (;;) {
    const left = processes
      .filter(({ pid, born }) => born !== undefined && birthOf(pid) === born)
      .map(({ pid }) => ({ pid, name: commandOf(pid) }));
    if (left.length === 0 || Date.now() > limit) return left;
    await delay(POLL_MS);
  }
}

async function answersAt(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
  await answer?.text();
  return answer?.status === 200;
}

/** Of Linux; elsewhere nothing is found, and only the end of npm itself is waited for. */
function descendantsOf(pid) {
  const children = new Map();
  for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    const [, parent] = statOf(name) ?? [];
    if (parent) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const below = (one) => (children.get(String(one)) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

/** State, parent and so on: what stands behind the name, which may hold spaces. */
function statOf(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' ? undefined : fields;
  } catch {
    return undefined;
  }
}

/** The time since the machine's start, which tells it from a later process of the same number. */
const birthOf = (pid) => statOf(pid)?.[19];

function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return String(pid);
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

async function freePort() {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

await main().catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
