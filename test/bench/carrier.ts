import { type ChildProcess, execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { findRunning } from '../../src/storage/managed/running-server';
import {
  type ApiClient,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import type { Place } from '../support/fanfare-process';
import { ROOT } from '../support/root';
import { alonePart } from './alone';
import { type CampaignBench, withFanfare, withPlace } from './campaign-rig';
import type { CarrierCounts, CarrierPace } from './carrier-child';
import type { CarrierLoopInput } from './carrier-loop';
import { type CpuBy, cpuOfInstallation, cpuPerMessage, idleMs, postmasterOf } from './process-cpu';
import { chosenParts, median, note, numberOption, rate, round2 } from './rig';

/**
 * The whole product against a carrier over HTTP in a process of its own, beside a bare undici loop to that carrier
 * in the same run. The carrier's own record says when messages came, and whether any was lost or came twice.
 * `--of` chooses: `whole` (the carrier answers at once), `slow` (50 ms for a message, 200 at once), `alone` (the
 * orchestrator to a bare sink, alone.ts). `--contacts N` and `--rounds N` are the size, `--connections N` the loop's.
 */
const PARTS = ['whole', 'slow', 'alone'] as const;
const CONTACTS_DEFAULT = 20_000;
const ROUNDS_DEFAULT = 3;
const WARM_UP = 2_000;
const LIMIT_MS = 10 * 60_000;
/** How often the campaign is asked for: its end is in the carrier's record, whenever it is noticed. */
const LOOK_MS = 500;

export const AT_ONCE: CarrierPace = { answerMs: 0, atOnce: 1_000_000 };
const SLOW: CarrierPace = { answerMs: 50, atOnce: 200 };
/** What the slow one can take in a second. */
const SLOW_PER_SECOND = (SLOW.atOnce * 1_000) / SLOW.answerMs;

const run = promisify(execFile);

export async function carrierPart(): Promise<unknown> {
  const parts = chosenParts(PARTS, PARTS, '--of');
  const result: Record<string, unknown> = {};
  if (parts.includes('whole') || parts.includes('slow')) {
    const carrier = await Carrier.start();
    try {
      await withPlace(async (place) => {
        Object.assign(place.env, { FANFARE_SMS_PROVIDER: 'http', FANFARE_SMS_HTTP_URL: carrier.url });
        Object.assign(result, await withFanfare(place, (bench) => measure(bench, carrier, parts)));
      });
    } finally {
      carrier.stop();
    }
  }
  if (parts.includes('alone')) result.alone = await alonePart();
  return result;
}

async function measure(bench: CampaignBench, carrier: Carrier, parts: readonly string[]) {
  const postmaster = await postmasterOfPlace(bench.place);
  const programs = [{ name: 'product', pid: bench.pid }];
  const line = await openCarrierLine({
    ...{ api: bench.api, place: bench.place, carrier },
    cpu: () => cpuOfInstallation(programs, postmaster, { carrier: carrier.pid }),
  });
  const result: Record<string, unknown> = {};
  if (parts.includes('whole')) result.whole = await line('whole', AT_ONCE);
  if (parts.includes('slow')) result.slow = await line('slow', SLOW, SLOW_PER_SECOND);
  return result;
}

/** An installation whose carrier is measured. `cpu` is what its processes have used so far. */
export interface CarrierBench {
  api: ApiClient;
  place: Place;
  carrier: Carrier;
  cpu(): CpuBy;
}

/** After a small campaign that is not counted: rounds of a bare loop and of a campaign, by turns. */
export async function openCarrierLine(bench: CarrierBench) {
  const contacts = numberOption('--contacts') ?? CONTACTS_DEFAULT;
  const rounds = numberOption('--rounds') ?? ROUNDS_DEFAULT;
  const templateId = await createSmsTemplate(bench.api);
  const campaign = (listId: string, count: number, pace: CarrierPace) =>
    campaignRound({ ...bench, listId, templateId, count, pace });
  note(`warming up with ${WARM_UP}`);
  await campaign(await createList(bench.api, WARM_UP, 'w', 9_000_000), WARM_UP, AT_ONCE);
  const listId = await createList(bench.api, contacts);
  return async (part: string, pace: CarrierPace, couldTake?: number) => {
    const results: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      note(`${part}, round ${round} of ${rounds}: ${contacts} by the bare loop, then by a campaign`);
      const bare = await bareRound(bench.carrier, contacts, pace);
      results.push({ bare, ...(await campaign(listId, contacts, pace)) });
    }
    return summary(contacts, results, couldTake);
  };
}

/** Rates are messages a second. */
interface Round {
  bare: number;
  /** From the campaign's creation to its last message, and from its first one. */
  whole: number;
  sending: number;
  lost: number;
  twice: number;
  databaseBytes: number;
  cpu: CpuBy;
}

interface CampaignInput extends CarrierBench {
  listId: string;
  templateId: string;
  count: number;
  pace: CarrierPace;
}

async function campaignRound(input: CampaignInput): Promise<Omit<Round, 'bare'>> {
  const { api, place, carrier, listId, templateId, count, pace } = input;
  await carrier.begin(pace);
  const bytesBefore = await databaseBytes(place);
  // The time for which no program had work says whether the cores bind.
  const cpu = () => ({ ...input.cpu(), idle: idleMs() });
  const cpuBefore = cpu();
  const startedAt = Date.now();
  const id = await createSmsCampaign(api, listId, templateId);
  await untilPhase(api, id, ['completed'], LIMIT_MS, LOOK_MS);
  const cpuAfter = cpu();
  const { handOvers, messages, firstAt, lastAt } = await carrier.look();
  const lost = count - messages;
  const twice = handOvers - messages;
  if (lost + twice > 0) {
    note(`NO RESULT: ${lost} lost and ${twice} handed over twice`);
    process.exitCode = 1;
  }
  return {
    whole: rate(count, lastAt - startedAt),
    sending: rate(count, lastAt - firstAt),
    lost,
    twice,
    databaseBytes: ((await databaseBytes(place)) - bytesBefore) / count,
    cpu: cpuPerMessage(cpuBefore, cpuAfter, count),
  };
}

async function bareRound(carrier: Carrier, count: number, pace: CarrierPace): Promise<number> {
  await carrier.begin(pace);
  const connections = numberOption('--connections') ?? (pace === SLOW ? SLOW.atOnce : 50);
  const input: CarrierLoopInput = { url: carrier.url, count, warmUp: WARM_UP, connections };
  const { stdout } = await run(process.execPath, [
    join(ROOT, 'dist/test/bench/carrier-loop.js'),
    JSON.stringify(input),
  ]);
  return rate(count, (JSON.parse(stdout) as { ms: number }).ms);
}

/** All tables and indexes of the installation. */
async function databaseBytes({ env, dataDir }: Place): Promise<number> {
  const connectionString = env.DATABASE_URL ?? (await findRunning(dataDir))?.url;
  if (connectionString === undefined) throw new Error(`No managed PostgreSQL runs in ${dataDir}.`);
  const client = new Client({ connectionString });
  await client.connect();
  const { rows } = await client.query<{ bytes: string }>(
    'select sum(pg_total_relation_size(relid)) as bytes from pg_stat_user_tables',
  );
  await client.end();
  return Number(rows[0]?.bytes);
}

const postmasterOfPlace = async ({ env }: Place): Promise<number | undefined> =>
  env.DATABASE_URL ? postmasterOf(env.DATABASE_URL) : undefined;

/** `couldTake` is what the carrier takes in a second at most, where that is known. */
function summary(contacts: number, rounds: readonly Round[], couldTake?: number) {
  const perSecond = (of: (round: Round) => number) => Math.round(median(rounds.map(of)));
  const ratiosTo = (bare: (round: Round) => number) => ({
    ratio: round2(median(rounds.map((round) => round.whole / bare(round)))),
    ratios: rounds.map((round) => round2(round.whole / bare(round))),
    sendingRatio: round2(median(rounds.map((round) => round.sending / bare(round)))),
    sendingRatios: rounds.map((round) => round2(round.sending / bare(round))),
  });
  return {
    contacts,
    barePerSecond: perSecond(({ bare }) => bare),
    campaignPerSecond: perSecond(({ whole }) => whole),
    sendingPerSecond: perSecond(({ sending }) => sending),
    toBareLoop: ratiosTo(({ bare }) => bare),
    ...(couldTake === undefined ? {} : { couldTake, toWhatItCouldTake: ratiosTo(() => couldTake) }),
    lost: rounds.reduce((sum, { lost }) => sum + lost, 0),
    twice: rounds.reduce((sum, { twice }) => sum + twice, 0),
    databaseBytesPerRecipient: rounds.map(({ databaseBytes: bytes }) => Math.round(bytes)),
    cpuMicrosPerMessage: medians(rounds.map(({ cpu }) => cpu)),
  };
}

function medians(all: readonly CpuBy[]): CpuBy {
  const names = [...new Set(all.flatMap((one) => Object.keys(one)))];
  return Object.fromEntries(names.map((name) => [name, median(all.map((one) => one[name] ?? 0))]));
}

/** The carrier's process, and its record. */
export class Carrier {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<Carrier> {
    const child = fork(join(ROOT, 'dist/test/bench/carrier-child.js'));
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new Carrier(child, `http://127.0.0.1:${port}/`);
  }

  get pid(): number {
    return this.child.pid as number;
  }

  look(): Promise<CarrierCounts> {
    return this.ask('look');
  }

  /** With an empty record. */
  async begin(pace: CarrierPace): Promise<void> {
    await this.ask(pace);
  }

  stop(): void {
    this.child.disconnect();
  }

  private async ask(message: 'look' | CarrierPace): Promise<CarrierCounts> {
    const answer = once(this.child, 'message');
    this.child.send(message);
    return ((await answer) as [CarrierCounts])[0];
  }
}
