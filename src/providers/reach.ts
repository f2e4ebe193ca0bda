import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** Where a carrier listens. */
export interface Place {
  host: string;
  port: number;
  /** TLS from the first byte: its certificate is looked at too. */
  tls: boolean;
}

const PORTS: Record<string, number> = { 'https:': 443, 'smpp:': 2_775, 'smpps:': 3_550 };

export function placeOf(url: string): Place {
  const { protocol, hostname, port } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (PORTS[protocol] ?? 80) : Number(port),
    tls: protocol === 'https:' || protocol === 'smpps:',
  };
}

/** What keeps us from connecting; `undefined` when nothing does. Nothing is said, lest it be taken for a message. */
export async function reach({ host, port, tls }: Place, withinMs: number): Promise<string | undefined> {
  return new Promise((done) => {
    const options = { host, port, timeout: withinMs };
    const socket: Socket = tls
      ? connectTls({ ...options, servername: /^[\d.]+$|:/.test(host) ? '' : host })
      : connectPlain(options);
    const end = (problem?: string) => {
      socket.destroy();
      done(problem);
    };
    socket.once(tls ? 'secureConnect' : 'connect', () => end());
    socket.once('timeout', () => end('no answer in time'));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}
