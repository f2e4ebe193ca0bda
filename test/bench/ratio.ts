import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'undici';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import type { Credentials, Place } from '../support/fanfare-process';
import {
  type CampaignBench,
  type HistoryCost,
  historyCost,
  recordOf,
  untilStill,
  withFanfare,
  withPlace,
} from './campaign-rig';
import { cpuMs, load, median, note, numberOption, peakMemoryMb, rate, round2, token } from './rig';

/**
 * A durable campaign against a bare undici loop over the same service, in one run: both from the first
 * request to the last hand-over in the simulator's own record. `--contacts N` and `--rounds N` the size;
 * with `--single` the service says nothing of bulk, and is sent one message at a time. `--connections N` are
 * the loop's. A small round of both goes before, so that what a process does for the first time is in neither,
 * and the event feed is followed beside the first loop as beside the later ones.
 */
const CONTACTS_DEFAULT = 20_000;
const ROUNDS_DEFAULT = 3;
const CONNECTIONS_DEFAULT = 50;
const WARM_UP_CONTACTS = 2_000;
const LIMIT_MS = 10 * 60_000;
/** Nobody looks at the bare loop either; the end of the campaign is in the record, whenever it is noticed. */
const LOOK_MS = 1_000;

export async function ratioPart(): Promise<unknown> {
  const single = process.argv.includes('--single');
  return withPlace(async (place) => {
    if (!single) return withFanfare(place, measure);
    return withoutBulk(place, () => withFanfare(place, measure));
  });
}

async function measure(bench: CampaignBench): Promise<unknown> {
  const contacts = numberOption('--contacts') ?? CONTACTS_DEFAULT;
  const rounds = numberOption('--rounds') ?? ROUNDS_DEFAULT;
  const { place, api, credentials, baseUrl, pid } = bench;
  const templateId = await createSmsTemplate(api);
  async function oneRound(round: number, listId: string, count: number): Promise<Round> {
    note(`round ${round} of ${rounds}: ${count} by the bare loop`);
    const begun = cpuMs(pid).all;
    const raw = await rawRound(place, baseUrl, credentials, templateId, count, round);
    note(`round ${round} of ${rounds}: ${count} by a campaign`);
    const between = cpuMs(pid).all;
    const campaign = await campaignRound(bench, listId, templateId, count);
    const perMessage = (ms: number) => (ms * 1_000) / count;
    const cpu = { raw: perMessage(between - begun), campaign: perMessage(cpuMs(pid).all - between) };
    return { raw, ...campaign, cpu };
  }
  await oneRound(0, await createList(api, WARM_UP_CONTACTS, 'w', 9_000_000), WARM_UP_CONTACTS);
  const listId = await createList(api, contacts);
  const results: Round[] = [];
  for (let round = 1; round <= rounds; round++) results.push(await oneRound(round, listId, contacts));
  return summary(contacts, results, peakMemoryMb(pid));
}

/**
 * Campaigns get their token through somebody who leaves "bulk" out of the answer: a service like any other
 * that implements no more than its specification in this respect.
 */
async function withoutBulk<T>(place: Place, run: () => Promise<T>): Promise<T> {
  const service = `http://127.0.0.1:${place.env.FANFARE_HTTP_PORT}`;
  const server: Server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const { authorization = '' } = incoming.headers;
    const answer = await request(`${service}${incoming.url}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: Buffer.concat(chunks),
    });
    const body = (await answer.body.json()) as { capabilities?: string[] };
    body.capabilities = body.capabilities?.filter((capability) => capability !== 'bulk') ?? [];
    outgoing.writeHead(answer.statusCode, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  place.env.FANFARE_AUTH_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    return await run();
  } finally {
    server.close();
  }
}

interface Round {
  raw: { perSecond: number; answeredPerSecond: number };
  campaignPerSecond: number;
  /** Of the run, its shards and the outcome feed, for 1,000 recipients: everything the campaign cost the server. */
  temporal: Omit<HistoryCost, 'workflows'>;
  /** Of our process, in microseconds for a message. The bare loop has a process of its own, a campaign sends in ours. */
  cpu: { raw: number; campaign: number };
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
    connections: numberOption('--connections') ?? CONNECTIONS_DEFAULT,
    perRequest: 1,
    pace: 0,
  });
  const lastAt = await lastHandOver(place, before + takenOf(count));
  return { perSecond: rate(count, lastAt - startedAt), answeredPerSecond: rate(count, ms) };
}

async function campaignRound(
  { place, api, credentials }: CampaignBench,
  listId: string,
  templateId: string,
  contacts: number,
): Promise<Omit<Round, 'raw' | 'cpu'>> {
  const before = handOvers(place);
  const startedAt = Date.now();
  const id = await createSmsCampaign(api, listId, templateId);
  await untilPhase(api, id, ['completed'], LIMIT_MS, LOOK_MS);
  const lastAt = await lastHandOver(place, before + takenOf(contacts));
  const { workflowId } = await campaignDetail(api, id);
  const runId = workflowId.replace('campaign:', '');
  const cost = await historyCost(credentials, (one) => one.includes(runId) || one.startsWith('outcomes:'));
  const perThousand = (count: number) => (count * 1_000) / contacts;
  return {
    campaignPerSecond: rate(contacts, lastAt - startedAt),
    temporal: {
      events: perThousand(cost.events),
      bytes: perThousand(cost.bytes),
      transitions: perThousand(cost.transitions),
    },
  };
}

/** The simulator refuses a share of addresses, so not every message becomes a hand-over. */
const takenOf = (count: number): number => Math.floor(count * 0.9);

const handOvers = (place: Place): number => recordOf(place, 'sms').handOvers;

const lastHandOver = async (place: Place, atLeast: number): Promise<number> =>
  Date.parse((await untilStill(place, 'sms', atLeast)).lastAt ?? '');

function summary(contacts: number, rounds: Round[], peakMemory: number) {
  const raw = median(rounds.map((round) => round.raw.perSecond));
  const campaign = median(rounds.map((round) => round.campaignPerSecond));
  return {
    contacts,
    rounds: rounds.length,
    rawPerSecond: Math.round(raw),
    rawAnsweredPerSecond: Math.round(median(rounds.map((round) => round.raw.answeredPerSecond))),
    campaignPerSecond: Math.round(campaign),
    ratio: round2(median(rounds.map((round) => round.campaignPerSecond / round.raw.perSecond))),
    ratios: rounds.map((round) => round2(round.campaignPerSecond / round.raw.perSecond)),
    eventsPer1000: round2(median(rounds.map(({ temporal }) => temporal.events))),
    historyBytesPer1000: Math.round(median(rounds.map(({ temporal }) => temporal.bytes))),
    transitionsPer1000: round2(median(rounds.map(({ temporal }) => temporal.transitions))),
    cpuPerMessage: {
      raw: Math.round(median(rounds.map((round) => round.cpu.raw))),
      campaign: Math.round(median(rounds.map((round) => round.cpu.campaign))),
    },
    peakMemoryMb: peakMemory,
  };
}
