import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** A customer's server, which keeps what it was told and answers as the test says. */
export interface Receiver {
  url: string;
  port: number;
  /** Every request in the order of arrival, also those that were not taken. */
  requests: ReceivedRequest[];
  /** What was answered with 2xx, by `webhook-id`. */
  taken: Map<string, ReceivedRequest>;
  /** From now on. Without one everything is taken. */
  answerWith(answer: Answer): void;
  close(): Promise<void>;
}

export interface ReceivedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The name that was asked for as the connection was made, with TLS. */
  servername: string | false | null | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests are about.
  event: any;
}

type Answer = (
  request: ReceivedRequest,
  response: ServerResponse,
) => { status: number; headers?: Record<string, string>; body?: string } | 'nothing';

const TAKE: Answer = () => ({ status: 204 });

/** With a certificate it speaks TLS. */
export async function startReceiver(host = '127.0.0.1', port = 0, tls?: ServerOptions): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  const taken = new Map<string, ReceivedRequest>();
  let decide = TAKE;
  const listener = (incoming: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const { url: path = '', headers } = incoming;
      const { servername } = incoming.socket as Partial<TLSSocket>;
      const request = { path, headers, body, servername, event: JSON.parse(body) };
      requests.push(request);
      const answer = decide(request, response);
      if (answer === 'nothing') return;
      if (answer.status < 300) taken.set(String(headers['webhook-id']), request);
      response.writeHead(answer.status, answer.headers).end(answer.body ?? '');
    });
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  await new Promise<void>((done) => server.listen(port, host, done));
  const listening = (server.address() as AddressInfo).port;
  return {
    url: `http${tls ? 's' : ''}://${host}:${listening}/told`,
    port: listening,
    requests,
    taken,
    answerWith(answer) {
      decide = answer;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
