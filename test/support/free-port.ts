import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Below those that systems give to outgoing connections, one of which could take it between two starts of a server. */
const PORTS = { from: 20_000, below: 32_000 };

/** A port that was free a moment ago, for servers that cannot be told to pick one themselves. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.below);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((done, fail) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? done(false) : fail(error),
    );
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}
