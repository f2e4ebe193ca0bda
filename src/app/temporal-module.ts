import { StartupError } from '../startup-error';
import { lockDirectory } from '../storage/directory-lock';
import { openTemporal, type Temporal } from '../temporal/connection';
import { startDevServer } from '../temporal/dev-server';
import { cacheDirectory, findTemporalExecutable } from '../temporal/executable';
import type { Tracing } from '../tracing/tracing';
import type { AppOptions } from './app';
import type { Shutdown } from './shutdown';
import { withStartupRetry } from './startup-retry';

export interface TemporalModule {
  handle: Temporal;
  address: string;
  uiUrl: string | undefined;
}

/** The path of the `temporal` executable, downloaded or built once if needed. */
export async function findExecutable({ config, env, onProgress, signal }: AppOptions): Promise<string> {
  const { path } = await findTemporalExecutable({
    cliPath: config.temporal.cliPath,
    cacheDir: cacheDirectory(env),
    env,
    onProgress,
    signal,
  });
  return path;
}

/** Opens the operator's server if one is configured; otherwise our own on the data directory. */
export async function openTemporalModule(
  { config, log, env, signal, tracing }: AppOptions & { tracing: Tracing | undefined },
  executable: string | undefined,
  shutdown: Shutdown,
  fail: (error: Error) => void,
): Promise<TemporalModule> {
  const { namespace } = config.temporal;
  const interceptor = tracing?.client;
  if (executable === undefined) {
    const address = config.temporal.address ?? '';
    const open = () => openTemporal({ address, namespace, env, interceptor });
    const handle = await withStartupRetry(open, { log, signal });
    shutdown.add('temporal connection', () => handle.close());
    return { handle, address, uiUrl: undefined };
  }
  // With a managed database the directory is ours already. Two servers on one file would each take it for theirs.
  if (config.databaseUrl) {
    shutdown.add('data directory', await lockDirectory(config.dataDir, (text) => log.warn(text)));
  }
  const server = await startDevServer({
    executable,
    dataDir: config.dataDir,
    namespace,
    log,
    onCrash: (outcome) => {
      if (outcome.restarted) return;
      fail(
        new StartupError(
          `The Temporal server keeps ending: ${outcome.error.message}`,
          'Look at its output with LOG_LEVEL=debug; start again once the cause is gone.',
        ),
      );
    },
  });
  shutdown.add('temporal server', () => server.stop());
  const handle = await openTemporal({ address: server.address, namespace, interceptor });
  shutdown.add('temporal connection', () => handle.close());
  return { handle, address: server.address, uiUrl: server.uiUrl };
}
