/** Proves that the managed Temporal server starts, survives crashes and ends with its process. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { createLog } from '../../src/log';
import type { CrashOutcome, HealthCheck } from '../../src/supervision/keep-running';
import { openTemporal } from '../../src/temporal/connection';
import {
  type DevServer,
  type DevServerOptions,
  serverHealth,
  startDevServer,
} from '../../src/temporal/dev-server';
import { isAlive } from '../support/is-alive';
import { until } from '../support/until';
import { writeScript } from './download-site';
import { startOwner } from './owner-process';
import { realExecutable } from './real-executable';

let executable: string;
let dataDir: string;
let running: DevServer[];

beforeAll(async () => {
  executable = await realExecutable();
}, 900_000);

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'fanfare-dev-server-'));
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((server) => server.stop()));
  rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
});

async function start(options: Partial<DevServerOptions> = {}): Promise<DevServer> {
  const server = await startDevServer({
    executable,
    dataDir,
    namespace: 'default',
    log: createLog('silent'),
    preferredPorts: { grpc: 0, ui: 0 },
    ...options,
  });
  running.push(server);
  return server;
}

async function answers(address: string, namespace = 'default'): Promise<boolean> {
  const connection = Connection.lazy({ address });
  try {
    await connection.withDeadline(Date.now() + 5_000, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return true;
  } catch {
    return false;
  } finally {
    await connection.close();
  }
}

async function listenAnywhere(): Promise<{ server: Server; port: number }> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { server, port: (server.address() as AddressInfo).port };
}

test('it answers, with its namespace and web page, and is gone after stop', async () => {
  const server = await start({ namespace: 'campaigns' });
  expect(await answers(server.address, 'campaigns')).toBe(true);
  expect((await fetch(server.uiUrl)).status).toBe(200);
  expect(existsSync(join(dataDir, 'temporal.db'))).toBe(true);

  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
  expect(existsSync(join(dataDir, 'temporal.pid'))).toBe(false);
});

test('what it holds is there after a restart', async () => {
  const first = await start();
  const { client, close } = await openTemporal({ address: first.address, namespace: 'default' });
  await client.workflow.start('anything', { workflowId: 'kept', taskQueue: 'nobody' });
  await close();
  await first.stop();

  const second = await start();
  const temporal = await openTemporal({ address: second.address, namespace: 'default' });
  expect((await temporal.client.workflow.getHandle('kept').describe()).status.name).toBe('RUNNING');
  await temporal.close();
});

test('a preferred port is used when it is free, and another when it is taken', async () => {
  const taken = await listenAnywhere();
  const free = await listenAnywhere();
  await new Promise((done) => free.server.close(done));
  const server = await start({ preferredPorts: { grpc: taken.port, ui: free.port } });
  expect(server.address).not.toBe(`127.0.0.1:${taken.port}`);
  expect(server.uiUrl).toBe(`http://127.0.0.1:${free.port}`);
  await new Promise((done) => taken.server.close(done));
});

test('a server that dies is brought back on the same port', async () => {
  const outcomes: CrashOutcome[] = [];
  const server = await start({ onCrash: (outcome) => outcomes.push(outcome) });
  const { pid } = server;
  process.kill(pid, 'SIGKILL');
  await until('the crash is reported', () => outcomes.length > 0);
  expect(outcomes).toEqual([{ restarted: true }]);
  expect(server.pid).not.toBe(pid);
  expect(await answers(server.address)).toBe(true);
});

test('a server that hangs is ended, and brought back on the same port', async () => {
  const outcomes: CrashOutcome[] = [];
  // The server's own check, only more often.
  const health: HealthCheck = {
    everyMs: 250,
    restartAfterMs: () => 1_000,
    ask: () => serverHealth(server.address, 'default', 250).ask(),
  };
  const server = await start({ health, onCrash: (outcome) => outcomes.push(outcome) });
  const { pid } = server;
  await delay(2_500);
  expect(server.pid).toBe(pid);
  process.kill(pid, 'SIGSTOP');
  await until('the restart is reported', () => outcomes.length > 0, 20_000);
  expect(outcomes).toEqual([{ restarted: true }]);
  expect(isAlive(pid)).toBe(false);
  expect(await answers(server.address)).toBe(true);
}, 40_000);

test('a server whose database is stuck is restarted sooner than one that answers late', () => {
  const { restartAfterMs, everyMs } = serverHealth('127.0.0.1:1', 'default');
  expect(restartAfterMs('GetNamespace operation failed. Error interrupted (9)')).toBeLessThan(everyMs);
  expect(restartAfterMs('Deadline exceeded')).toBeGreaterThan(2 * everyMs);
});

test('a server that cannot run is one error with its last words, and leaves nothing running', async () => {
  const broken = join(dataDir, 'temporal');
  writeScript(broken, 'echo "disk is full" >&2', 'exit 4');
  await expect(start({ executable: broken })).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringMatching(/ended with code 4.*\n.*disk is full/),
  });
  expect(existsSync(join(dataDir, 'temporal.pid'))).toBe(false);
});

test('a server that is killed as it starts is to be started again, and its database kept', async () => {
  const killed = join(dataDir, 'temporal');
  writeScript(killed, 'kill -9 $$');
  await expect(start({ executable: killed })).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringContaining('was killed'),
    wayOut: expect.not.stringContaining('temporal.db'),
  });
});

test('a damaged database file is one error that names it', async () => {
  writeFileSync(join(dataDir, 'temporal.db'), 'not a database '.repeat(1_000));
  await expect(start()).rejects.toMatchObject({
    name: 'StartupError',
    wayOut: expect.stringContaining(join(dataDir, 'temporal.db')),
  });
});

test('a first start that found no room says so, and the next one begins anew', async () => {
  const full = join(dataDir, 'temporal');
  writeScript(
    full,
    'while [ "$1" != --db-filename ]; do shift; done; echo "half a database" > "$2"',
    'echo "failed setting up schema: database or disk is full (13)" >&2; exit 1',
  );
  await expect(start({ executable: full })).rejects.toMatchObject({
    name: 'StartupError',
    wayOut: expect.stringContaining('Make room on the disk'),
  });
  const server = await start();
  expect(await answers(server.address)).toBe(true);
  expect(existsSync(join(dataDir, 'temporal.unfinished'))).toBe(false);
});

test('a database that an earlier build began and never completed is set aside', async () => {
  writeFileSync(join(dataDir, 'temporal.db'), '');
  const server = await start();
  expect(await answers(server.address)).toBe(true);
  expect(existsSync(join(dataDir, 'temporal.db.incomplete'))).toBe(true);
  expect(existsSync(join(dataDir, 'temporal.unfinished'))).toBe(false);
});

test('it ends when its owner is killed', async () => {
  const owner = await startOwner(executable, dataDir);
  expect(isAlive(owner.serverPid)).toBe(true);
  await owner.kill();
  await until('the server has ended', () => !isAlive(owner.serverPid));
  await until('the watchdog has ended', () => !isAlive(owner.watchdogPid));
});

test('a start right after the owner was killed waits for the old server to end', async () => {
  const owner = await startOwner(executable, dataDir);
  await owner.kill();
  const server = await start();
  expect(isAlive(owner.serverPid)).toBe(false);
  expect(await answers(server.address)).toBe(true);
});

test('one that has lost its owner and its watchdog is ended by the next start', async () => {
  const owner = await startOwner(executable, dataDir);
  await owner.kill().then(() => process.kill(owner.watchdogPid, 'SIGKILL'));
  const server = await start();
  await until('the old server has ended', () => !isAlive(owner.serverPid));
  expect(await answers(server.address)).toBe(true);
});

test('a process id that now belongs to something else is left alone', async () => {
  writeFileSync(join(dataDir, 'temporal.pid'), `${process.pid} ${process.pid}`);
  const server = await start();
  expect(await answers(server.address)).toBe(true);
});

test('a directory whose server has a living owner is refused, and that server is left alone', async () => {
  const server = await start();
  await expect(start()).rejects.toMatchObject({
    name: 'StartupError',
    message: expect.stringContaining('Another process runs a Temporal server'),
  });
  expect(await answers(server.address)).toBe(true);
}, 20_000);
