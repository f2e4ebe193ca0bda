import { rmSync } from 'node:fs';
import { createLog } from '../../src/log';
import { startDevServer } from '../../src/temporal/dev-server';
import { cacheDirectory, findTemporalExecutable } from '../../src/temporal/executable';
import { makeWorkDirectory } from './work-directory';

/** One real dev server for the whole run. Tests keep apart by workflow id, workspace and task queue. */
export async function startTemporal(): Promise<{ value: string; stop(): Promise<void> }> {
  const { path } = await findTemporalExecutable({
    cliPath: process.env.TEMPORAL_CLI_PATH,
    cacheDir: cacheDirectory(process.env),
    env: process.env,
    onProgress: (text) => process.stderr.write(`${text}\n`),
  });
  const dataDir = makeWorkDirectory('temporal');
  const server = await startDevServer({
    executable: path,
    dataDir,
    namespace: 'default',
    log: createLog('fatal'),
    // The usual ports may be those of an instance that somebody works with.
    preferredPorts: { grpc: 0, ui: 0 },
  });
  return {
    value: server.address,
    async stop() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
