import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StartupError } from '../startup-error';
import type { Metrics } from './metrics';

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
