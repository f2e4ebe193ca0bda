import { createServer } from 'node:net';

/** Stands in for a pooler, such as PgBouncer, that answers each connection with a refusal of its own. */
export async function startFakePooler(message: string): Promise<{ url: string; stop(): void }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(fatal(message)));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  return { url: `postgres://me:secret@127.0.0.1:${port}/ours`, stop: () => server.close() };
}

/** ErrorResponse of PostgreSQL's protocol, with the code that PgBouncer gives to all it says. */
function fatal(message: string): Buffer {
  const fields = `SFATAL\0VFATAL\0C08P01\0M${message}\0\0`;
  const packet = Buffer.alloc(5 + Buffer.byteLength(fields));
  packet.write('E', 0);
  packet.writeInt32BE(packet.length - 1, 1);
  packet.write(fields, 5);
  return packet;
}
