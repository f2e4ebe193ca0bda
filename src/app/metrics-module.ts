import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CampaignTables } from '../campaigns/model/tables';
import { recipientsByPhase, runPhases } from '../campaigns/runs/run-phases';
import { workspaceSizes } from '../messaging/events/message-minutes';
import type { MessagingTables } from '../messaging/model/tables';
import { outboxDepth } from '../messaging/outbox/outbox-overview';
import { createMetrics, type Metrics } from '../metrics/metrics';
import { StartupError } from '../startup-error';
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

export interface MetricsListener {
  port: number;
  close(): Promise<void>;
}

/**
 * A separate port for metrics, open to every caller who reaches it. It is for processes without an API, and for
 * networks whose metrics readers have no credentials.
 */
export async function listenForMetrics(
  metrics: Pick<Metrics, 'read' | 'contentType'>,
  { host, port }: { host: string; port: number },
): Promise<MetricsListener> {
  const server = createServer((request, answer) => {
    const path = request.url?.split('?')[0];
    if (path !== '/metrics' || request.method !== 'GET') {
      answer.writeHead(path === '/metrics' ? 405 : 404).end();
      return;
    }
    metrics.read().then(
      (text) => answer.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => answer.writeHead(500).end(),
    );
  });
  await new Promise<void>((done, fail) => {
    server.once('error', (error) =>
      fail(
        new StartupError(
          `Cannot listen for metrics on ${host}:${port}: ${error.message}`,
          'Stop the program that uses the port, or set FANFARE_METRICS_PORT to another; each process needs one of its own.',
          { cause: error },
        ),
      ),
    );
    server.listen(port, host, done);
  });
  server.unref();
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
