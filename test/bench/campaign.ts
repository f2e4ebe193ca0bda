import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
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
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { benchPlace, load, median, note, numberOption, peakMemoryMb, rate, round2, token } from './rig';

/**
 * A durable campaign against a bare undici loop over the same service, in one run: both from the first
 * request to the last hand-over in the simulator's own record. Prints one line of JSON. DATABASE_URL
 * chooses the engine; `--contacts N` and `--rounds N` the size.
 */
const CONTACTS_DEFAULT = 20_000;
const ROUNDS_DEFAULT = 3;
const LIMIT_MS = 10 * 60_000;

async function main(): Promise<void> {
  const contacts = numberOption('--contacts') ?? CONTACTS_DEFAULT;
  const rounds = numberOption('--rounds') ?? ROUNDS_DEFAULT;
  const place = await benchPlace();
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
    await place.remove();
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
  const { startedAt, ms } = await load({
    baseUrl,
    token: await token(baseUrl, credentials),
    apiKey: credentials.apiKey,
    templateId,
    count,
    prefix: `raw${round}`,
    connections: 50,
    perRequest: 1,
    pace: 0,
  });
  const lastAt = await lastHandOver(place, before + takenOf(count));
  return { perSecond: rate(count, lastAt - startedAt), answeredPerSecond: rate(count, ms) };
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

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
