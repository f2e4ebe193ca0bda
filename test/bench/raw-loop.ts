import { Pool } from 'undici';

/**
 * The bare loop a campaign is measured against: one `send-msg` per contact over 50 connections, nothing
 * kept, nothing checked but the status. A process of its own, so that it does not share the service's
 * thread. Told to wait by a full outbox it waits, as any caller must.
 */
interface RawLoopInput {
  baseUrl: string;
  token: string;
  apiKey: string;
  templateId: string;
  count: number;
  prefix: string;
}

const CONNECTIONS = 50;

async function main(input: RawLoopInput): Promise<void> {
  const pool = new Pool(input.baseUrl, { connections: CONNECTIONS, pipelining: 1 });
  const headers = {
    authorization: `Bearer ${input.token}`,
    'x-api-key': input.apiKey,
    'content-type': 'application/json',
  };
  let next = 0;
  let throttled = 0;
  const startedAt = Date.now();
  const lane = async (): Promise<void> => {
    for (let i = next++; i < input.count; i = next++) {
      const body = JSON.stringify({
        channel: 'sms',
        uid: `${input.prefix}-${i}`,
        to: `+1202${2_000_000 + i}`,
        from: '12345',
        'template-id': input.templateId,
        params: { NAME: `Person ${i}` },
      });
      for (;;) {
        const answer = await pool.request({ method: 'POST', path: '/send-msg', headers, body });
        await answer.body.dump();
        if (answer.statusCode === 202) break;
        if (answer.statusCode !== 429) throw new Error(`send-msg answered ${answer.statusCode}`);
        throttled++;
        await new Promise((done) => setTimeout(done, 50));
      }
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, lane));
  const answeredMs = Date.now() - startedAt;
  await pool.close();
  process.stdout.write(JSON.stringify({ startedAt, answeredMs, throttled }));
}

main(JSON.parse(process.argv[2] ?? '{}') as RawLoopInput).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
