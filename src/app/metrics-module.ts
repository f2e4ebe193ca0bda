import type { CampaignTables } from '../campaigns/model/tables';
import { recipientsByPhase, runPhases } from '../campaigns/runs/run-phases';
import { workspaceSizes } from '../messaging/events/message-minutes';
import type { MessagingTables } from '../messaging/model/tables';
import { outboxDepth } from '../messaging/outbox/outbox-depth';
import { listenForMetrics } from '../metrics/listener';
import { createMetrics, type Metrics } from '../metrics/metrics';
import type { Storage } from '../storage/storage';
import type { AppOptions } from './app';
import type { Shutdown } from './shutdown';

/** The metrics of this process, and a port of their own if one is configured. */
export async function openMetricsModule(
  { config, log }: AppOptions,
  storage: Storage,
  shutdown: Shutdown,
): Promise<Metrics> {
  const metrics = createMetrics({
    outbox: () => outboxDepth(storage.tables<MessagingTables>()),
    runs: () => runPhases(storage.tables<CampaignTables>()),
    recipients: () => recipientsByPhase(storage.tables<CampaignTables>()),
    workspaces: () => workspaceSizes(storage.tables<MessagingTables>()),
    connections: storage.connections,
    onError: (error) => log.warn({ err: error }, 'Metrics of the database could not be read'),
  });
  const { port } = config.metrics;
  if (port === undefined) return metrics;
  const listener = await listenForMetrics(metrics, { host: config.http.host, port });
  shutdown.add('metrics', () => listener.close());
  log.info({ port: listener.port }, 'metrics are served');
  return metrics;
}
