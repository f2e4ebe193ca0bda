import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { Pool } from 'undici';
import { readRecord } from '../../src/providers/simulator-record';
import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import {
  type Credentials,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { ROOT } from '../support/root';

/**
 * A durable campaign against a bare undici loop over the same service, in one run: both from the first
 * request to the last hand-over in the simulator's own record. Prints one line of JSON. DATABASE_URL
 * chooses the engine; `--contacts N` and `--rounds N` the size.
 */
const run = promisify(execFile);
const CONTACTS_DEFAULT = 20_000;
const ROUNDS_DEFAULT = 3;
const LIMIT_MS = 10 * 60_000;

async function main(): Promise<void> {
  const contacts = option('--contacts') ?? CONTACTS_DEFAULT;
  const rounds = option('--rounds') ?? ROUNDS_DEFAULT;
  const place = await makePlace({ FANFARE_SIMULATOR_LATENCY_MS: '0', LOG_LEVEL: 'error' });
  const fanfare = startFanfare(place);
  try {
    await untilReady(fanfare);
    const credentials = readCredentials(place);
    const api = new ApiClient(fanfare.baseUrl, credentials);
    const templateId = await createSmsTemplate(api);
    const listId = await createList(api, contacts);
    const results: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      note(`round ${round + 1} of ${rounds}: ${contacts} by the bare loop`);
      const raw = await rawRound(place, fanfare.baseUrl, credentials, templateId, contacts, round);
      note(`round ${round + 1} of ${rounds}: ${contacts} by a campaign`);
      results.push({ raw, ...(await campaignRound(place, api, credentials, listId, templateId, contacts)) });
    }
    await api.close();
    process.stdout.write(`${JSON.stringify(summary(place, contacts, results, peakMemoryMb(fanfare.pid)))}\n`);
  } finally {
    await fanfare.stop();
    place.remove();
  }
}

interface Round {
  raw: { perSecond: number; answeredPerSecond: number };
  campaignPerSecond: number;
  eventsPer1000: number;
}

async function rawRound(
  place: Place,
  baseUrl: string,
  credentials: Credentials,
  templateId: string,
  count: number,
  round: number,
): Promise<Round['raw']> {
  const before = handOvers(place);
  const input = {
    baseUrl,
    token: await token(baseUrl, credentials),
    apiKey: credentials.apiKey,
    templateId,
    count,
    prefix: `raw${round}`,
  };
  const { stdout } = await run(process.execPath, [
    join(ROOT, 'dist/test/bench/raw-loop.js'),
    JSON.stringify(input),
  ]);
  const { startedAt, answeredMs } = JSON.parse(stdout) as { startedAt: number; answeredMs: number };
  const lastAt = await lastHandOver(place, before + takenOf(count));
  return { perSecond: rate(count, lastAt - startedAt), answeredPerSecond: rate(count, answeredMs) };
}

async function campaignRound(
  place: Place,
  api: ApiClient,
  credentials: Credentials,
  listId: string,
  templateId: string,
  contacts: number,
): Promise<Omit<Round, 'raw'>> {
  const before = handOvers(place);
  const startedAt = Date.now();
  const id = await createSmsCampaign(api, listId, templateId);
  await untilPhase(api, id, ['completed'], LIMIT_MS);
  const lastAt = await lastHandOver(place, before + takenOf(contacts));
  const { workflowId } = await campaignDetail(api, id);
  return {
    campaignPerSecond: rate(contacts, lastAt - startedAt),
    eventsPer1000: ((await historyEvents(credentials, workflowId)) * 1000) / contacts,
  };
}

/** The simulator refuses a share of addresses, so not every message becomes a hand-over. */
const takenOf = (count: number): number => Math.floor(count * 0.9);

/** When the record has had at least so many hand-overs and stands still, the time of the last one. */
async function lastHandOver(place: Place, atLeast: number): Promise<number> {
  for (let last = -1, still = 0; ; ) {
    const count = handOvers(place);
    still = count >= atLeast && count === last ? still + 1 : 0;
    if (still === 10) return Date.parse(readRecord(join(place.dataDir, 'simulator'), 'sms').lastAt ?? '');
    last = count;
    await new Promise((done) => setTimeout(done, 100));
  }
}

function handOvers(place: Place): number {
  return readRecord(join(place.dataDir, 'simulator'), 'sms').handOvers;
}

/** History events of the run, its shards and the outcome feed: everything the campaign cost the server. */
async function historyEvents(credentials: Credentials, workflowId: string): Promise<number> {
  const connection = await Connection.connect({ address: credentials.temporal.address });
  const client = new Client({ connection, namespace: credentials.temporal.namespace });
  const runId = workflowId.replace('campaign:', '');
  let events = 0;
  for await (const execution of client.workflow.list()) {
    const mine = execution.workflowId.includes(runId) || execution.workflowId.startsWith('outcomes:');
    if (mine)
      events += (await client.workflow.getHandle(execution.workflowId, execution.runId).describe())
        .historyLength;
  }
  await connection.close();
  return events;
}

async function token(baseUrl: string, credentials: Credentials): Promise<string> {
  const pool = new Pool(baseUrl);
  const basic = Buffer.from(`${credentials.client.id}:${credentials.client.secret}`).toString('base64');
  const answer = await pool.request({
    method: 'POST',
    path: '/api/v1/auth/token',
    headers: { authorization: `Basic ${basic}`, 'content-type': 'application/json' },
    body: JSON.stringify({ grant_type: 'client_credentials' }),
  });
  const body = (await answer.body.json()) as { access_token: string };
  await pool.close();
  return body.access_token;
}

function summary(place: Place, contacts: number, rounds: Round[], peakMemory: number) {
  const raw = median(rounds.map((round) => round.raw.perSecond));
  const campaign = median(rounds.map((round) => round.campaignPerSecond));
  return {
    engine: place.env.DATABASE_URL ? 'postgres' : 'embedded',
    contacts,
    rounds: rounds.length,
    rawPerSecond: Math.round(raw),
    rawAnsweredPerSecond: Math.round(median(rounds.map((round) => round.raw.answeredPerSecond))),
    campaignPerSecond: Math.round(campaign),
    ratio: round2(median(rounds.map((round) => round.campaignPerSecond / round.raw.perSecond))),
    ratios: rounds.map((round) => round2(round.campaignPerSecond / round.raw.perSecond)),
    eventsPer1000: round2(median(rounds.map((round) => round.eventsPer1000))),
    peakMemoryMb: peakMemory,
  };
}

function peakMemoryMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024);
}

const rate = (count: number, ms: number): number => (count * 1000) / ms;
const round2 = (value: number): number => Math.round(value * 100) / 100;
const note = (text: string): void => void process.stderr.write(`${text}\n`);

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function option(name: string): number | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : Number(process.argv[at + 1]);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
