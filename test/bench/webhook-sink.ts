import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * Receivers of webhooks, in a process of their own, forked: one takes everything, and one at /silent never
 * answers. Told `look` it tells what the first has counted since it was last told so.
 */
export interface WebhookSinkCounts {
  taken: number;
  /** Milliseconds since the epoch. */
  lastAt: number;
}

let counts: WebhookSinkCounts = { taken: 0, lastAt: 0 };

const server = createServer((request, response) => {
  request.resume();
  if (request.url === '/silent') return;
  request.on('end', () => {
    counts.taken += 1;
    counts.lastAt = Date.now();
    response.writeHead(204).end();
  });
});

process.on('message', () => {
  process.send?.(counts);
  counts = { taken: 0, lastAt: 0 };
});
process.once('disconnect', () => process.exit(0));
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
