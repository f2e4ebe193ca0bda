import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { makePlace } from './fanfare-process';
import { Installation } from './installation';

const INBOUND_SECRET = 'call-carrier';

/** What a scripted carrier does with one call. */
export interface Script {
  /** Instead of taking it: the status and code of the refusal. */
  refuse?: { status: number; code: string };
  /** The receipt that ends it; without one it is never heard of again. */
  end?: { type: string; code?: string; data?: Record<string, unknown> };
  /** Receipts on the way. */
  way?: string[];
  lastsMs: number;
  /** It goes on at least until then. */
  until?: Promise<void>;
  /** The end is told before the hand-over is answered. */
  early?: boolean;
}

/** One call as the carrier saw it. */
export interface CarrierCall {
  uid: string;
  to: string;
  from: string;
  attempt: number;
  voice: unknown;
  startedAt: number;
  endedAt: number | undefined;
  /** Calls of the same caller id that were under way, this one included. */
  live: number;
}

export interface CallCarrier {
  url: string;
  calls: CarrierCall[];
  close(): Promise<void>;
}

/**
 * A carrier of calls by the contract of api.md 12, in the test's own process: it outlives whatever is killed. What it
 * tells comes twice and in any order. A message that it has been given before is not dialled anew.
 */
export async function startCallCarrier(options: {
  inboundUrl: string;
  script(to: string, attempt: number): Script;
}): Promise<CallCarrier> {
  const calls: CarrierCall[] = [];
  const taken = new Map<string, CarrierCall>();
  const live = new Map<string, number>();
  let closed = false;
  const telling = new Set<Promise<void>>();

  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const message = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, string>;
      void take(message, (status, body) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));

  async function take(
    { id = '', uid = '', to = '', from = '', ...more }: Record<string, string>,
    answer: (status: number, body: object) => void,
  ): Promise<void> {
    const attempt = Number(uid.slice(uid.lastIndexOf('.') + 1));
    const script = options.script(to, attempt);
    if (script.refuse) return answer(script.refuse.status, { code: script.refuse.code, message: 'Refused' });
    if (taken.has(id)) return answer(202, { id });
    const now = live.get(from) ?? 0;
    live.set(from, now + 1);
    const call = {
      uid,
      to,
      from,
      attempt,
      voice: more.voice,
      startedAt: Date.now(),
      endedAt: undefined,
      live: now + 1,
    };
    calls.push(call);
    taken.set(id, call);
    const ending = run(id, call, script);
    if (script.early) await ending;
    answer(202, { id });
  }

  async function run(id: string, call: CarrierCall, script: Script): Promise<void> {
    const { end, way = [] } = script;
    if (!end) {
      if (way.length > 0) await tell(way.map((type) => ({ id, type })));
      return;
    }
    await new Promise((done) => setTimeout(done, script.lastsMs));
    await script.until;
    live.set(call.from, (live.get(call.from) ?? 1) - 1);
    call.endedAt = Date.now();
    const receipts = [{ id, ...end }, ...way.map((type) => ({ id, type })), { id, ...end }];
    const told = tell(receipts);
    telling.add(told);
    await told;
    telling.delete(told);
  }

  async function tell(receipts: object[]): Promise<void> {
    while (!closed) {
      try {
        const answered = await fetch(options.inboundUrl, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(receipts),
          signal: AbortSignal.timeout(10_000),
        });
        await answered.arrayBuffer();
        if (answered.status === 200) return;
      } catch {
        // Nobody is there, and comes back.
      }
      await new Promise((done) => setTimeout(done, 100));
    }
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/calls`,
    calls,
    async close() {
      closed = true;
      server.close();
      server.closeAllConnections();
      await Promise.all(telling);
    },
  };
}

/** The same number in [0, 1) for the same text. */
export function drawOf(text: string): number {
  let hash = 2_166_136_261;
  for (const character of text) hash = Math.imul(hash ^ character.charCodeAt(0), 16_777_619) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0;
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

/** The whole program with such a carrier for its calls. */
export async function installWithCallCarrier(
  env: Record<string, string>,
  script: (to: string, attempt: number) => Script,
): Promise<{ here: Installation; carrier: CallCarrier }> {
  const place = await makePlace({
    FANFARE_INBOUND_SECRET: INBOUND_SECRET,
    FANFARE_VOICE_PROVIDER: 'http',
    ...env,
  });
  const inboundUrl = `http://127.0.0.1:${place.env.FANFARE_HTTP_PORT}/inbound/http/${INBOUND_SECRET}`;
  const carrier = await startCallCarrier({ inboundUrl, script });
  place.env.FANFARE_VOICE_HTTP_URL = carrier.url;
  return { here: await Installation.startAt(place), carrier };
}
