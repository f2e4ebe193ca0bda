import { performance } from 'node:perf_hooks';
import { Pool } from 'undici';

/**
 * The bare loop: `send-msg`, or bulk, over a number of connections, nothing kept, nothing checked but the
 * status. A process of its own, so that it does not share the service's thread. Told to wait by a full
 * outbox it waits, as any caller must. Prints one line of JSON.
 */
export interface LoadInput {
  baseUrl: string;
  token: string;
  apiKey: string;
  templateId: string;
  /** Every uid begins with it. */
  prefix: string;
  /** Messages to send. */
  count: number;
  connections: number;
  /** Messages in one request; 1 means `send-msg`, more means bulk. */
  perRequest: number;
  /** Messages a second at most; 0 sends as fast as answers come. */
  pace: number;
}

export interface LoadResult {
  startedAt: number;
  /** From the first request to the last answer. */
  ms: number;
  /** Answers that said to wait. */
  throttled: number;
  /** Of answers that took the messages on, in milliseconds. */
  latency: { p50: number; p99: number; max: number };
}

const WAIT_MS = 20;

async function main(input: LoadInput): Promise<void> {
  const { baseUrl, token, apiKey, count, connections, perRequest, pace } = input;
  const pool = new Pool(baseUrl, { connections, pipelining: 1 });
  const headers = {
    authorization: `Bearer ${token}`,
    'x-api-key': apiKey,
    'content-type': 'application/json',
  };
  const path = perRequest === 1 ? '/send-msg' : '/send-msg/bulk';
  const latencies: number[] = [];
  let next = 0;
  let throttled = 0;
  const startedAt = Date.now();
  const begun = performance.now();
  const lane = async (): Promise<void> => {
    while (next < count) {
      const from = next;
      next = Math.min(count, next + perRequest);
      let open = Array.from({ length: next - from }, (_, i) => messageOf(input, from + i));
      if (pace > 0) await until(begun + (from * 1_000) / pace);
      while (open.length > 0) {
        const body = perRequest === 1 ? JSON.stringify(open[0]) : JSON.stringify({ messages: open });
        const sentAt = performance.now();
        const answer = await pool.request({ method: 'POST', path, headers, body });
        open = await notTaken(answer, open);
        if (open.length === 0) latencies.push(performance.now() - sentAt);
        else {
          throttled++;
          await new Promise((done) => setTimeout(done, WAIT_MS));
        }
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, lane));
  const ms = performance.now() - begun;
  await pool.close();
  latencies.sort((a, b) => a - b);
  const at = (share: number) => round(latencies[Math.floor((latencies.length - 1) * share)] ?? Number.NaN);
  const result: LoadResult = {
    startedAt,
    ms: Math.round(ms),
    throttled,
    latency: { p50: at(0.5), p99: at(0.99), max: at(1) },
  };
  process.stdout.write(JSON.stringify(result));
}

function messageOf({ prefix, templateId }: LoadInput, i: number) {
  return {
    channel: 'sms',
    uid: `${prefix}-${i}`,
    to: `+1202${2_000_000 + (i % 7_000_000)}`,
    from: '12345',
    'template-id': templateId,
    params: { NAME: `Person ${i}` },
  };
}

type Answer = Awaited<ReturnType<Pool['request']>>;
type BenchMessage = ReturnType<typeof messageOf>;

/** The messages to be sent once more, because the outbox had no room. */
async function notTaken(answer: Answer, sent: BenchMessage[]): Promise<BenchMessage[]> {
  if (answer.statusCode === 207) {
    const { data } = (await answer.body.json()) as { data: { results: { status: number }[] } };
    return sent.filter((_, i) => {
      const status = data.results[i]?.status;
      if (status !== 202 && !isToWait(status)) throw new Error(`a message of a bulk was answered ${status}`);
      return isToWait(status);
    });
  }
  await answer.body.dump();
  if (answer.statusCode === 202) return [];
  if (!isToWait(answer.statusCode)) throw new Error(`the service answered ${answer.statusCode}`);
  return sent;
}

/** A full outbox, or more requests at once than are kept waiting for their insert. */
const isToWait = (status: number | undefined): boolean => status === 429 || status === 503;

async function until(atMs: number): Promise<void> {
  const waitMs = atMs - performance.now();
  if (waitMs > 1) await new Promise((done) => setTimeout(done, waitMs));
}

const round = (value: number): number => Math.round(value * 10) / 10;

main(JSON.parse(process.argv[2] ?? '{}') as LoadInput).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
