import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** When both ends of a connection are torn apart, told by what the client or the server has said. */
export interface Cut {
  after: 'connect' | 'client' | 'server';
  /** Of everything that side has said so far. */
  pattern?: RegExp;
  /** What was just said still arrives, or is lost. */
  deliver: boolean;
}

/** Between a client and a server, with a knife. */
export interface CuttingProxy {
  port: number;
  /** Connections cut so far. */
  cuts: number;
  close(): Promise<void>;
}

export async function startCuttingProxy(target: number, cut: Cut, times: number): Promise<CuttingProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    let heard = '';
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    const tear = () => {
      proxy.cuts += 1;
      client.destroy();
      upstream.destroy();
    };
    client.on('end', () => upstream.end());
    upstream.on('end', () => client.end());
    if (cut.after === 'connect' && proxy.cuts < times) {
      tear();
      return;
    }
    const pipe = (from: Socket, to: Socket, side: 'client' | 'server') =>
      from.on('data', (chunk: Buffer) => {
        if (side === cut.after) heard += chunk.toString('latin1');
        const isTime = side === cut.after && proxy.cuts < times && cut.pattern?.test(heard);
        if (!isTime) to.write(chunk);
        else if (cut.deliver) to.write(chunk, tear);
        else tear();
      });
    pipe(client, upstream, 'client');
    pipe(upstream, client, 'server');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const proxy: CuttingProxy = {
    port: (server.address() as AddressInfo).port,
    cuts: 0,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
  return proxy;
}
