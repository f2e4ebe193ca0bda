import { DefaultLogger, type LogLevel, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import type { Log } from '../log';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;

/** Said at every start of a worker that runs activities only, or none of Nexus: no news. */
const EXPECTED = /^No (workflows|activities|Nexus services) registered/;

/**
 * Sends what Temporal's own code says to our log, its information as details for debugging. To be called
 * before the first connection is made; a process has one runtime. Given an address, it serves metrics of its
 * workers there.
 */
export function installTemporalRuntime(log: Log, metricsAt?: string): void {
  Runtime.install({
    telemetryOptions: {
      // Of its own accord the native half writes past our log, in colours, whatever LOG_LEVEL says.
      logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'WARN', other: 'ERROR' }) },
      ...(metricsAt ? { metrics: { prometheus: { bindAddress: metricsAt } } } : {}),
    },
    logger: new DefaultLogger('INFO', ({ level, message, meta }) => {
      const as = EXPECTED.test(message) ? 'debug' : LEVELS[level as LogLevel];
      log[as]({ temporal: meta }, message);
    }),
  });
}
