import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { freePort } from './free-port';
import { runTied } from './run-tied';

/** One real dev server for the whole run, in memory. Tests keep apart by workflow id and task queue. */
export async function startTemporal(): Promise<{ value: string; stop(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-temporal-'));
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const server = runTied(
    process.env.TEMPORAL_CLI_PATH || 'temporal',
    [
      'server',
      'start-dev',
      '--headless',
      '--ip',
      '127.0.0.1',
      '--port',
      String(port),
      '--log-level',
      'error',
    ],
    { cwd: directory, stopSignal: 'SIGTERM' },
  );
  await server.untilReady(() => answers(address));
  return {
    value: address,
    async stop() {
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function answers(address: string): Promise<boolean> {
  try {
    const connection = await Connection.connect({ address, connectTimeout: 1_000 });
    await connection.close();
    return true;
  } catch {
    return false;
  }
}
