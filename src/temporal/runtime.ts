import { DefaultLogger, type LogLevel, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { Log } from '../log';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;

/** Logged at every start of a worker that runs only activities, or no Nexus services; not worth a line. */
const EXPECTED = /^No (workflows|activities|Nexus services) registered/;

/**
 * Sends the log lines of Temporal's own code to our log, with information lines as debug. Call it before the
 * first connection, because a process has one runtime. With an address, it serves the metrics of its workers
 * there.
 */
export function installTemporalRuntime(log: Log, metricsAt?: string): void {
  Runtime.install({
    // The program stops its workers itself (app/shutdown.ts). By default the SDK also stops them at SIGQUIT and
    // SIGUSR2, after which the process would go on answering requests while its campaigns stand still.
    shutdownSignals: [],
    telemetryOptions: {
      // By default the native half writes past our log, in colours, whatever LOG_LEVEL says.
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      ...(metricsAt ? { metrics: { prometheus: { bindAddress: metricsAt } } } : {}),
    },
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      const as = EXPECTED.test(message) ? 'debug' : LEVELS[level as LogLevel];
      log[as]({ temporal: meta }, message);
    }),
  });
}
