import { connect, createServer, type Socket } from 'node:net';

/** A way to a server on this machine that can be cut, or swallow what is said on it. */
export interface Line {
  readonly port: number;
  cut(): void;
  /** Connections stay open and carry nothing any more: those that are there, or new ones as well. */
  swallow(which: 'present' | 'all'): void;
  mend(): void;
  close(): void;
}

export async function openLine(targetPort: () => number): Promise<Line> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let swallows = false;
  const silence = new Map<Socket, () => void>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    keep(near);
    if (isCut) return void near.resetAndDestroy();
    if (swallows) return void near.resume();
    const far = keep(connect(targetPort(), '127.0.0.1'));
    near.pipe(far).pipe(near);
    silence.set(near, () => {
      near.unpipe(far);
      far.unpipe(near);
      near.resume();
      far.resume();
    });
    near.on('close', () => {
      silence.delete(near);
      far.destroy();
    });
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as { port: number };
  return {
    port,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.resetAndDestroy();
    },
    swallow(which) {
      swallows = which === 'all';
      for (const one of silence.values()) one();
    },
    mend() {
      isCut = false;
      swallows = false;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
