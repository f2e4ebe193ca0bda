import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makeTemplate } from './databases';
import { startPostgres } from './postgres-server';
import { startTemporal } from './temporal-server';

/** What a test file may ask for, by name; the answer is one string. */
export type Service = 'postgres' | 'temporal' | 'template-database';

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
export async function startBroker(): Promise<Broker> {
  const starters: Record<Service, () => Promise<Running>> = {
    postgres: startPostgres,
    temporal: startTemporal,
    'template-database': async () => makeTemplate((await serviceOf('postgres')).value),
  };
  const started = new Map<string, Promise<Running>>();
  let keepData = false;

  function serviceOf(name: Service): Promise<Running> {
    const service = started.get(name) ?? starters[name]();
    started.set(name, service);
    return service;
  }

  const server = createServer((request, response) => {
    const name = request.url?.slice(1) ?? '';
    if (name === 'keep-data') {
      keepData = true;
      response.end();
      return;
    }
    serviceOf(name as Service).then(
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
      // The last first, because a template is dropped on a server that was started before it.
      for (const service of [...started.values()].reverse()) {
        const running = await service.catch(() => undefined);
        await running?.stop({ keepData });
      }
    },
  };
}
