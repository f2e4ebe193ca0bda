import { createHash } from 'node:crypto';
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * A carrier in a process of its own, by the contract of api.md 12, with a record of its own that nobody
 * else writes: one line for each time a message reached a person, written before the answer. At `/once` it
 * takes a message once however often it is given the same key; at `/each` it takes it each time. What it
 * refuses, drops or loses depends on the message's id alone. What follows in the path is the account, of which each is a
 * carrier of its own: `/once/b` does not know the keys of `/once/a`. While there is a file `<record>.refused`, it refuses
 * the account that is named there, or all. Arguments: port, record, where receipts go.
 */
const [portText = '', record = '', inboundUrl = ''] = process.argv.slice(2);

export interface CarrierLine {
  id: string;
  uid: string;
  from: string;
  path: string;
  channel: string;
}

const ANSWER_MS = 20;

/** By id; and by path and id, as the account knows it. */
const taken = new Set<string>();
const takenAt = new Set<string>();
const owed: { id: string; type: string; at: string; data?: object }[] = [];
if (existsSync(record)) {
  for (const line of readFileSync(record, 'utf8').split('\n').filter(Boolean)) remember(JSON.parse(line));
}
const out = openSync(record, 'a');

createServer((request, response) => {
  void handle(request, response).catch(() => response.destroy());
}).listen(Number(portText), '127.0.0.1', () => void report());

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const message = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
    id: string;
    uid: string;
    from: string;
    channel: string;
  };
  const path = request.url ?? '';
  const [, , account] = path.split('/');
  if (isRefused(account)) return answer(response, 401, {});
  const fate = fateOf(message.id);
  // Each is refused at its first coming only, except the one whom the carrier never takes.
  const isNew = !seen.has(message.id);
  seen.add(message.id);
  if (fate < 5) return answer(response, 400, { code: 'bad_number', message: 'No such number' });
  if (fate < 15 && isNew) return answer(response, 503, {});
  if (fate < 20 && isNew) return answer(response, 429, {}, { 'retry-after': '1' });
  if (path.startsWith('/each') || !takenAt.has(`${path} ${message.id}`)) {
    const line: CarrierLine = {
      id: message.id,
      uid: message.uid,
      from: message.from,
      path,
      channel: message.channel,
    };
    writeSync(out, `${JSON.stringify(line)}\n`);
    remember(line);
    // So that a good part of what is killed is killed between a message and its answer.
    await delay(ANSWER_MS);
  }
  if (fate < 25 && isNew) return void request.socket.destroy();
  answer(response, 202, { id: `carrier-${message.id}` });
}

/** In thousandths, of the message and nothing else. */
const fateOf = (id: string): number => createHash('sha256').update(id).digest().readUInt16BE(0) % 1_000;
const seen = new Set<string>();

function isRefused(account: string | undefined): boolean {
  if (!existsSync(`${record}.refused`)) return false;
  const refused = readFileSync(`${record}.refused`, 'utf8');
  return account === undefined || refused === '' || refused === account;
}

function remember({ id, channel, path }: CarrierLine): void {
  takenAt.add(`${path} ${id}`);
  if (taken.has(id)) return;
  taken.add(id);
  const at = new Date().toISOString();
  const isReached = fateOf(id) < 950;
  if (channel !== 'voice') return void owed.push({ id, type: isReached ? 'delivered' : 'undelivered', at });
  owed.push({ id, type: 'ringing', at });
  if (isReached) owed.push({ id, type: 'answered', at, data: { answeredBy: 'human' } });
  owed.push({ id, type: isReached ? 'completed' : 'busy', at, data: { durationMs: 1_000 } });
}

/** Until somebody takes them. A carrier that was started again tells everything once more. */
async function report(): Promise<void> {
  for (;;) {
    const batch = owed.slice(0, 200);
    if (batch.length && (await taking(batch))) owed.splice(0, batch.length);
    else await delay(100);
  }
}

async function taking(batch: object[]): Promise<boolean> {
  try {
    const answered = await fetch(inboundUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(batch),
      signal: AbortSignal.timeout(5_000),
    });
    await answered.arrayBuffer();
    return answered.status === 200;
  } catch {
    return false;
  }
}

function answer(response: ServerResponse, status: number, body: object, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
