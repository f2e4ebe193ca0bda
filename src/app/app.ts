import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { CampaignTables } from '../campaigns/model/tables';
import { type InTurn, launchInTurn } from '../campaigns/watch/launch-in-turn';
import { launchNotBegun } from '../campaigns/watch/run-reconciler';
import type { Config } from '../config';
import {
  type Credentials,
  credentialsFile,
  readCredentials,
  writeCredentials,
} from '../credentials/credentials';
import type { Role } from '../domain/task-queues';
import { Foreground } from '../foreground';
import { serviceAccess } from '../gateway/service-access';
import type { Log } from '../log';
import { isUnavailable } from '../messaging/model/database-error';
import type { MessagingTables } from '../messaging/model/tables';
import { OwnRequests } from '../own-requests';
import { StartupError } from '../startup-error';
import { isForbidden, unwritable } from '../storage/directory-lock';
import { noAnswer } from '../storage/postgres';
import { openStorage, type Storage } from '../storage/storage';
import { isNoRoom, NoRoomError } from '../supervision/full-disk';
import type { Temporal } from '../temporal/connection';
import { createLauncher, type Launcher } from '../temporal/launcher';
import type * as opentelemetry from '../tracing/opentelemetry';
import type { Tracing } from '../tracing/tracing';
import { openDatabaseModule } from './database-module';
import { type HttpModule, openHttpModule } from './http-module';
import { openHttps } from './https';
import { openMetricsModule } from './metrics-module';
import { type ProcessTables, recordProcess } from './processes';
import { openServiceGateways } from './service-gateway';
import { Shutdown } from './shutdown';
import { withStartupRetry } from './startup-retry';
import { findExecutable, openTemporalModule } from './temporal-module';
import { openWorkerModule } from './worker-module';

/**
 * Composition: the one folder where the parts of the program are created and connected. Everything opened is
 * closed in reverse order, even if a later part fails to open.
 */
export interface AppOptions {
  config: Config;
  log: Log;
  /** Serve the HTTP API and deliver messages. */
  http: boolean;
  /** Temporal workers to run in this process. */
  roles: readonly Role[];
  env: Record<string, string | undefined>;
  onProgress(text: string): void;
  signal: AbortSignal;
}

export interface App {
  /** Address of the HTTP API, if this process serves it. */
  baseUrl: string | undefined;
  /** The same without TLS, for callers of this machine. */
  localUrl: string | undefined;
  /** Whether the console is at the address of the HTTP API. */
  servesConsole: boolean;
  /** Address of Temporal's web interface, if the server is ours. */
  temporalUiUrl: string | undefined;
  credentials: Credentials | undefined;
  /** Rejects when a part has failed beyond repair; never resolves. */
  failed: Promise<never>;
  stop(): Promise<void>;
}

export async function startApp(options: AppOptions): Promise<App> {
  // The whole start is retried, because the database may go away between its first connection and its last
  // statement.
  return withStartupRetry(() => startOnce(options), options);
}

async function startOnce(options: AppOptions): Promise<App> {
  const shutdown = new Shutdown(options.log);
  try {
    return await openParts(options, shutdown);
  } catch (error) {
    await shutdown.closeAll();
    if (isNoRoom(error)) {
      const { message } = error as Error;
      throw new NoRoomError(`The disk is full: ${message}`, resolve(options.config.dataDir), {
        cause: error,
      });
    }
    const { dataDir } = options.config;
    if (isForbidden(error, dataDir)) throw unwritable(resolve(dataDir), error);
    const isAway = !(error instanceof StartupError) && isUnavailable(error);
    throw isAway ? noAnswer(error) : error;
  }
}

async function openParts(options: AppOptions, shutdown: Shutdown): Promise<App> {
  const { config, log, signal } = options;
  let fail: (error: Error) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => undefined);

  refuseImpossible(options);
  const https = options.http ? await openHttps(config.http, log, shutdown) : undefined;
  // Found first, because it may take minutes and nothing else should be half started meanwhile.
  const executable = config.temporal.address ? undefined : await findExecutable(options);
  // Looked at before each part that takes a while, so that a stop need not wait for the whole start.
  signal.throwIfAborted();
  const tracing = openTracingOf(options, shutdown);
  const database = await openDatabaseModule(options, shutdown, fail);
  signal.throwIfAborted();
  await withStartupRetry(() => needAccount(options), options);
  const storage = await openStorageOf(options, database.url, shutdown);
  const recorded = await recordProcess({
    ...{ db: storage.tables<ProcessTables>(), log, buildId: config.workerBuildId },
    roles: [...(options.http ? (['http'] as const) : []), ...options.roles],
  });
  shutdown.add('list of processes', () => recorded.stop());
  signal.throwIfAborted();
  const temporal = await openTemporalModule({ ...options, tracing }, executable, shutdown, fail);
  signal.throwIfAborted();
  let credentials = await readCredentials(config.dataDir);
  const own = new OwnRequests();
  const service = openServiceGateways(
    {
      ...{ config, credentials: () => credentials, db: storage.tables<MessagingTables>() },
      ...{ traceHeaders: tracing?.headers, own, log },
    },
    shutdown,
  );
  const metrics = await openMetricsModule(options, storage, shutdown);
  const launcher = openLauncher(storage, temporal.handle, { log, shutdown });
  const shared = {
    ...{ ...options, storage, metrics, tracing, temporal: temporal.handle, launcher, service },
    ...{ temporalAt: temporal, processId: recorded.id },
    ...{ foreground: new Foreground(), own },
  };
  const http = options.http ? await openHttpModule({ ...shared, credentials, https }, shutdown) : undefined;
  if (http && !(database.isShared && credentials)) {
    credentials = await settleCredentials(config, http, credentials, temporal.address);
    if (!credentials) warnWithoutAccount(options);
  }
  signal.throwIfAborted();
  if (options.roles.length) await openWorkerModule(shared, shutdown, fail);
  if (http && !options.roles.includes('orchestrator'))
    void launchNotBegun(storage.tables<CampaignTables>(), launcher, log);
  http?.markReady();
  log.info({ baseUrl: http?.baseUrl, temporal: temporal.address, roles: options.roles }, 'ready');
  return {
    baseUrl: http?.baseUrl,
    localUrl: http?.localUrl,
    servesConsole: http?.servesConsole ?? false,
    temporalUiUrl: temporal.uiUrl,
    credentials,
    failed,
    stop: () => shutdown.closeAll(),
  };
}

async function openStorageOf(options: AppOptions, databaseUrl: string, shutdown: Shutdown): Promise<Storage> {
  const { log, signal } = options;
  const storage = await withStartupRetry(
    () =>
      openStorage({
        ...{ databaseUrl, signal },
        onIndex: (index) => log.debug({ index }, 'Building an index'),
        onLost: (error) =>
          log.warn({ err: error }, 'Building indexes and filling columns was interrupted; going on'),
        onNewer: (migrations) =>
          log.warn(
            { migrations },
            'The database has the schema of a newer build; end this process when the upgrade is done',
          ),
      }),
    options,
  );
  shutdown.add('storage', () => storage.close());
  storage.indexes.catch((error: unknown) =>
    log.warn(
      { err: error },
      'An index could not be built, and some lists are slow; the next start builds it',
    ),
  );
  return storage;
}

/** Of a process there is one, which limits what it launches at once. */
function openLauncher(
  storage: Storage,
  { client }: Temporal,
  { log, shutdown }: { log: Log; shutdown: Shutdown },
): InTurn<Launcher> {
  const launcher = launchInTurn(storage.tables<CampaignTables>(), createLauncher(client), log);
  shutdown.add('launches', async () => launcher.stop());
  return launcher;
}

/** Traces, if the operator names a collector; the libraries behind them are not even loaded otherwise, because they take 15 MB. */
export function openTracingOf({ config, log }: AppOptions, shutdown: Shutdown): Tracing | undefined {
  if (!config.tracing) return undefined;
  const { openTracing } = require('../tracing/opentelemetry') as typeof opentelemetry;
  const tracing = openTracing(config.tracing);
  shutdown.add('traces', () => tracing.close());
  log.info('traces are sent');
  return tracing;
}

/** The managed Temporal server belongs to one process and serves no other. */
function refuseImpossible({ config, http, roles }: AppOptions): void {
  if (http && roles.length) return;
  if (config.temporal.address) return;
  throw new StartupError(
    'TEMPORAL_ADDRESS is not set: a Temporal server of its own would serve this process alone, and it is one of several',
    'Set TEMPORAL_ADDRESS to a Temporal server that all processes share, or run `fanfare up`.',
  );
}

/** A worker without an account at the service would take work from the queues that other workers can do, and fail it for ever. */
async function needAccount({ config, http }: AppOptions): Promise<void> {
  if (http || config.service.credentialsFile !== undefined) return;
  serviceAccess(config.service, await readCredentials(config.dataDir));
}

/** It serves on all the same, because an administrator has to log in to make what is missing. */
function warnWithoutAccount({ config, roles, log }: AppOptions): void {
  const { clientId, credentialsFile: ofWorkspaces } = config.service;
  if (roles.length === 0 || clientId !== undefined || ofWorkspaces !== undefined) return;
  log.warn(
    `The database has workspaces, but ${credentialsFile(config.dataDir)} is not there, and campaigns wait. Restore that file, or log in, make a client and an API key, and set FANFARE_CLIENT_ID, FANFARE_CLIENT_SECRET, FANFARE_API_KEY, and FANFARE_AUTH_URL, FANFARE_SEND_URL and FANFARE_APP_URL to the address of this server`,
  );
}

/**
 * At the very first start, creates a workspace to begin with. Its secrets are written to credentials.json
 * before it is created, so that a later start can finish what a killed one began.
 */
async function settleCredentials(
  config: Config,
  http: HttpModule,
  known: Credentials | undefined,
  temporalAddress: string,
): Promise<Credentials | undefined> {
  if (known && (await http.isForeign(known.workspace.id))) {
    throw new StartupError(
      `${credentialsFile(config.dataDir)} is of another installation: its workspace ${known.workspace.id} is not in this database`,
      'Put the file of this installation in its place, or let DATABASE_URL name the database that it belongs to. Without a copy, move it away: the log then says what to set.',
    );
  }
  const secrets = known ?? (await http.planFirstWorkspace());
  if (!secrets) return undefined;
  const credentials: Credentials = {
    ...secrets,
    baseUrl: http.localUrl,
    inboundSecret: http.inboundSecret,
    temporal: { address: temporalAddress, namespace: config.temporal.namespace },
  };
  if (!isDeepStrictEqual(credentials, known)) await writeCredentials(config.dataDir, credentials);
  await http.insertFirstWorkspace(credentials);
  return credentials;
}
