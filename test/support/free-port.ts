import { type AddressInfo, createServer } from 'node:net';

/** A port that was free a moment ago, for servers that cannot be told to pick one themselves. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
