import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HandOver, Receipt } from '../../src/providers/provider';

/**
 * A carrier outside, as an integrator would write one from api.md 12. It answers by address (`reject@`,
 * `down@`, `refuse@`, `throttle@`, `lost@`, else accepted), keeps what it was given, and reports each message as
 * delivered until somebody takes the report.
 */
export interface HttpCarrier {
  url: string;
  /** One entry for each time a message reached a person. */
  delivered: string[];
  /** Where reports go; `undefined` while nobody is there. */
  reportTo(inboundUrl: string | undefined): void;
  close(): Promise<void>;
}

export async function startHttpCarrier({ idempotent }: { idempotent: boolean }): Promise<HttpCarrier> {
  const delivered: string[] = [];
  const given = new Set<string>();
  const owed: Receipt[] = [];
  let inboundUrl: string | undefined;
  let reporting: Promise<void> | undefined;

  const server = createServer((incoming, response) => {
    void bodyOf(incoming).then((text) => judge(JSON.parse(text) as HandOver, incoming, response));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));

  function judge(message: HandOver, incoming: IncomingMessage, response: ServerResponse): void {
    const name = message.to.split('@')[0];
    if (name === 'reject') answer(response, 400, { code: 'bad_address', message: 'No such mailbox' });
    else if (name === 'down') answer(response, 503, {});
    else if (name === 'refuse') answer(response, 401, {});
    else if (name === 'throttle') answer(response, 429, {}, { 'retry-after': '2' });
    else take(message, incoming, response);
  }

  function take(message: HandOver, incoming: IncomingMessage, response: ServerResponse): void {
    const key = incoming.headers['idempotency-key'] as string;
    const isNew = !given.has(key);
    given.add(key);
    const providerId = `carrier-${key}`;
    if (isNew || !idempotent) {
      delivered.push(message.id);
      owed.push({ providerId, type: 'delivered', at: new Date().toISOString() });
      report();
    }
    if (message.to.startsWith('lost@') && isNew) incoming.socket.destroy();
    else answer(response, 202, { id: providerId });
  }

  function report(): void {
    reporting ??= reportAll().finally(() => {
      reporting = undefined;
    });
  }

  async function reportAll(): Promise<void> {
    while (inboundUrl && owed.length > 0) {
      const batch = owed.slice(0, 100);
      const status = await post(inboundUrl, batch);
      if (status === 200) owed.splice(0, batch.length);
    }
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/messages?from=test`,
    delivered,
    reportTo(url) {
      inboundUrl = url;
      report();
    },
    async close() {
      inboundUrl = undefined;
      server.close();
      server.closeAllConnections();
      await reporting;
    },
  };
}

export async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export function answer(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, headers).end(JSON.stringify(body));
}

/** Answers the status, or 0 where nobody answers. */
function post(url: string, body: unknown): Promise<number> {
  return new Promise((done) => {
    const headers = { 'content-type': 'application/json', connection: 'close' };
    const outgoing = request(url, { method: 'POST', headers, agent: false }, (response) => {
      response.resume().on('close', () => done(response.statusCode ?? 0));
    });
    outgoing.on('error', () => setImmediate(() => done(0)));
    outgoing.end(JSON.stringify(body));
  });
}
