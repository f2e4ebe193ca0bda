import { performance } from 'node:perf_hooks';
import { Pool } from 'undici';

/**
 * The bare loop to a carrier: one POST for each message over a number of connections, with a body like the HTTP
 * provider's, nothing kept, nothing checked but the status. A process of its own. It sends some messages first,
 * because the first ones are slow while the code is compiled. Prints one line of JSON.
 */
export interface CarrierLoopInput {
  url: string;
  count: number;
  warmUp: number;
  connections: number;
}

async function main({ url, count, warmUp, connections }: CarrierLoopInput): Promise<void> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  await send(pool, 'warm', warmUp, connections);
  const begun = performance.now();
  await send(pool, 'bare', count, connections);
  const ms = performance.now() - begun;
  await pool.close();
  process.stdout.write(JSON.stringify({ ms }));
}

async function send(pool: Pool, prefix: string, count: number, connections: number): Promise<void> {
  let next = 0;
  const oneByOne = async (): Promise<void> => {
    while (next < count) {
      const id = `${prefix}-${next++}`;
      const headers = { 'content-type': 'application/json', 'idempotency-key': id };
      const answer = await pool.request({ method: 'POST', path: '/', headers, body: bodyOf(id, next) });
      await answer.body.dump();
      if (answer.statusCode !== 200) throw new Error(`the carrier answered ${answer.statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, oneByOne));
}

const bodyOf = (id: string, n: number): string =>
  JSON.stringify({
    id,
    uid: id,
    channel: 'sms',
    to: `+1202${2_000_000 + n}`,
    from: '12345',
    text: `Hello Person ${n}`,
    campaign: 'bench',
    attempt: 1,
  });

main(JSON.parse(process.argv[2] ?? '{}') as CarrierLoopInput).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
