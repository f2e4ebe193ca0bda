import { runWorkers } from '../../workers/run';
import { keepCallsLaunched } from '../campaigns/calls/call-reconciler';
import type { CampaignTables } from '../campaigns/model/tables';
import { followStops } from '../campaigns/stops/follow-stops';
import { Feeds } from '../campaigns/watch/feeds';
import type { InTurn } from '../campaigns/watch/launch-in-turn';
import { wakePlanned } from '../campaigns/watch/planned-launches';
import { keepRunsLaunched } from '../campaigns/watch/run-reconciler';
import { startWatcher } from '../campaigns/watch/watcher';
import type { Role } from '../domain/task-queues';
import type { Foreground } from '../foreground';
import type { Storage } from '../storage/storage';
import type { Temporal } from '../temporal/connection';
import { createSignals, type Launcher } from '../temporal/launcher';
import type { Tracing } from '../tracing/tracing';
import type { AppOptions } from './app';
import { suppression, suppressionEntry } from './between-halves';
import { eventSource, type ServiceGateways } from './service-gateway';
import type { Shutdown } from './shutdown';

export interface WorkerModuleOptions extends AppOptions {
  roles: readonly Role[];
  storage: Storage;
  temporal: Temporal;
  launcher: InTurn<Launcher>;
  service: ServiceGateways;
  foreground: Foreground;
  tracing: Tracing | undefined;
}

/** The Temporal workers of this process, and the gateway through which they send. */
export async function openWorkerModule(
  options: WorkerModuleOptions,
  shutdown: Shutdown,
  fail: (error: Error) => void,
): Promise<void> {
  const { config, log, storage, temporal, launcher, service } = options;
  const db = storage.tables<CampaignTables>();
  const signals = createSignals(temporal.client, launcher);
  const workers = await runWorkers({
    connection: temporal.connection,
    namespace: temporal.namespace,
    roles: options.roles,
    buildId: config.workerBuildId,
    tracing: options.tracing?.workers,
    deps: {
      ...{ db, gatewayFor: service.gatewayFor, suppression, suppressionEntry, log },
      signals,
      callTimes: config.callTimes,
      foreground: options.foreground,
    },
  });
  shutdown.add('workers', () => workers.stop());
  workers.done.catch(fail);
  if (options.roles.includes('orchestrator')) {
    const source = eventSource(service);
    const feeds = new Feeds(db, {
      scope: service.scope,
      source,
      heads: service.heads,
      signals,
      pass: () => options.foreground.pass(),
      log,
    });
    const watcher = startWatcher(db, {
      ...{ waker: launcher, source, feeds, log },
      stops: followStops(db, launcher, log),
    });
    shutdown.add('watcher', () => watcher.stop());
    const planned = wakePlanned(db, launcher, log);
    shutdown.add('planned launches', () => planned.stop());
    const relaunch = await keepRunsLaunched(db, launcher, log);
    shutdown.add('relaunch', () => relaunch.stop());
    const calls = keepCallsLaunched({ db, launcher, signals, callTimes: config.callTimes, log });
    shutdown.add('calls', () => calls.stop());
  }
}
