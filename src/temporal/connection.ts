import { Client, isGrpcServiceError, type WorkflowClientInterceptor } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection, type NativeConnectionOptions } from '@temporalio/worker';
import { StartupError } from '../startup-error';

/** A reachable server answers in milliseconds, one across the ocean with TLS in a second or two. */
const ANSWER_LIMIT_MS = 10_000;
const GRPC_NOT_FOUND = 5;

export interface OpenTemporalOptions {
  address: string;
  namespace: string;
  /**
   * Set when the address is the operator's own: TLS, API key and metadata are then read from the standard
   * Temporal client variables and profile file. A managed server needs none of them.
   */
  env?: Record<string, string | undefined> | undefined;
  /** Intercepts calls that start and signal workflows. */
  interceptor?: WorkflowClientInterceptor | undefined;
}

export interface Temporal {
  /** For workers. */
  connection: NativeConnection;
  /** On the workers' own connection, because only then can a start hand over the first task eagerly. */
  client: Client;
  namespace: string;
  /** Of the server; rejects when it does not answer within two seconds. */
  version(): Promise<string>;
  /** Call it after the workers have ended. */
  close(): Promise<void>;
}

/** Connects and checks that the namespace exists. A StartupError says what is wrong. */
export async function openTemporal(options: OpenTemporalOptions): Promise<Temporal> {
  const { address, namespace } = options;
  const connection = await connect(address, options.env);
  try {
    await connection.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
  } catch (error) {
    await connection.close();
    if (isGrpcServiceError(error) && error.code === GRPC_NOT_FOUND) {
      throw new StartupError(
        `The Temporal server at ${address} has no namespace ${namespace}`,
        `Create it (temporal operator namespace create --namespace ${namespace}), or set TEMPORAL_NAMESPACE.`,
      );
    }
    throw unreachable(address, error);
  }
  return {
    connection,
    client: new Client({
      ...{ connection, namespace },
      ...(options.interceptor && { interceptors: { workflow: [options.interceptor] } }),
    }),
    namespace,
    async version() {
      const { workflowService } = connection;
      const info = await connection.withDeadline(Date.now() + 2_000, () => workflowService.getSystemInfo({}));
      return info.serverVersion;
    },
    close: () => connection.close(),
  };
}

async function connect(address: string, env: OpenTemporalOptions['env']): Promise<NativeConnection> {
  let fromProfile: NativeConnectionOptions = {};
  if (env) {
    const set = Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]));
    try {
      fromProfile = loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(set) }).connectionOptions;
    } catch (error) {
      throw new StartupError(
        `The Temporal client configuration cannot be read: ${(error as Error).message}`,
        'Correct the TEMPORAL_… variables or the profile file that TEMPORAL_CONFIG_FILE names.',
        { cause: error },
      );
    }
  }
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), ANSWER_LIMIT_MS);
  });
  try {
    return await Promise.race([NativeConnection.connect({ ...fromProfile, address }), limit]);
  } catch (error) {
    throw unreachable(address, error);
  } finally {
    clearTimeout(timer);
  }
}

function unreachable(address: string, error: unknown): StartupError {
  return new StartupError(
    `The Temporal server at ${address} cannot be reached: ${causeOf((error as Error).message)}`,
    'Start it, or correct TEMPORAL_ADDRESS and the TEMPORAL_TLS… variables; without TEMPORAL_ADDRESS `fanfare up` starts one of its own.',
    { cause: error, mayPass: true },
  );
}

/** The library nests its errors in its own debug format; the innermost one is the system's. */
const causeOf = (message: string): string => /message: \\?"([^"\\]+)/.exec(message)?.[1] ?? message;
