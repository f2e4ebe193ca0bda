import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeEmbeddedTemplate } from './embedded-template';
import { type PostgresSource, startPostgres } from './postgres-server';
import { startTemporal } from './temporal-server';

/** What a test file may ask for, by name; the answer is one string. */
export type Service = 'postgres' | 'temporal' | 'embedded-template';

interface Running {
  /** What the asker gets: an address, a connection string, a directory. */
  value: string;
  /** `keepData`: a failed test left its database behind as evidence. */
  stop(options: { keepData: boolean }): Promise<void>;
}

export interface Broker {
  url: string;
  close(): Promise<void>;
}

/**
 * Starts each service at its first request and hands the same one to every test file of the run. Test
 * files live in several processes, so they ask over HTTP.
 */
export async function startBroker(postgres: PostgresSource): Promise<Broker> {
  const starters: Record<Service, () => Promise<Running>> = {
    postgres: () => startPostgres(postgres),
    temporal: startTemporal,
    'embedded-template': makeEmbeddedTemplate,
  };
  const started = new Map<string, Promise<Running>>();
  let keepData = false;

  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? '';
    if (name === 'keep-data') {
      keepData = true;
      response.end();
      return;
    }
    const service = started.get(name) ?? starters[name as Service]();
    started.set(name, service);
    service.then(
      ({ value }) => response.end(value),
      (error: Error) => response.writeHead(500).end(error.message),
    );
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      const running = await Promise.allSettled(started.values());
      await Promise.all(
        running.map((one) => (one.status === 'fulfilled' ? one.value.stop({ keepData }) : undefined)),
      );
    },
  };
}
