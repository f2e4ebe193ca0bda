import { ApiClient, createSmsTemplate } from '../support/api-client';
import { type Place, readCredentials, untilReady } from '../support/fanfare-process';
import { feedEnd, toProviderMs, untilQuiet } from './delivered';
import type { LoadInput, LoadResult } from './load';
import {
  benchPlace,
  type Cpu,
  chosenParts,
  cpuMs,
  load,
  median,
  note,
  numberOption,
  peakMemoryMb,
  rate,
  round2,
  startProduct,
  token,
} from './rig';
import { fillMessages, readStored } from './stored';

/**
 * The messaging service under load, as one process that does everything (`fanfare up`), with the load in
 * another. Prints one line of JSON. DATABASE_URL chooses the database; without it each place has a managed one.
 *
 *   send      `send-msg` over 50 connections: rate, latency, CPU of the service for a message
 *   bulk      requests of 500 messages
 *   dispatch  a minute of `send-msg` at a pace: how long after its answer a message is with the provider
 *   stored    reads beside a million stored messages (`--stored N`)
 *
 * `--part send,bulk` chooses, `--rounds` repeats, `--count` is the messages of a round, `--pace` those of
 * a second in `dispatch`.
 */
const PARTS = ['send', 'bulk', 'dispatch', 'stored'];
const SINGLE = { connections: 50, perRequest: 1 };
const BULK = { connections: 10, perRequest: 500 };

interface Bench {
  place: Place;
  pid: number;
  api: ApiClient;
  input: Pick<LoadInput, 'baseUrl' | 'token' | 'apiKey' | 'templateId'>;
}

async function main(): Promise<void> {
  const parts = chosenParts(PARTS, PARTS);
  const rounds = numberOption('--rounds') ?? 3;
  const count = numberOption('--count') ?? 20_000;
  const result: Record<string, unknown> = {
    database: process.env.DATABASE_URL ? 'DATABASE_URL' : 'managed',
    node: process.versions.node,
  };
  const place = await benchPlace();
  try {
    const loaded = parts.filter((part) => part !== 'stored');
    if (loaded.length > 0) {
      await withService(place, async (bench) => {
        // The first seconds compile.
        await load({ ...bench.input, ...SINGLE, prefix: 'warm', count: 3_000, pace: 0 });
        await untilQuiet(place);
        if (loaded.includes('send')) result.send = await sendPart(bench, rounds, count, SINGLE);
        if (loaded.includes('bulk')) result.bulk = await sendPart(bench, rounds, count, BULK);
        if (loaded.includes('dispatch')) {
          result.dispatch = await dispatchPart(bench, numberOption('--pace') ?? 500);
        }
        result.peakMemoryMb = peakMemoryMb(bench.pid);
      });
    }
    if (parts.includes('stored')) {
      const stored = numberOption('--stored') ?? 1_000_000;
      const firstEvent = await fillMessages(place, stored);
      result.stored = await withService(place, ({ api }) => readStored(api, stored, firstEvent));
    }
    process.stdout.write(`${JSON.stringify(result)}\n`);
  } finally {
    await place.remove();
  }
}

async function withService<T>(place: Place, measure: (bench: Bench) => Promise<T>): Promise<T> {
  const fanfare = startProduct(place);
  try {
    await untilReady(fanfare);
    const { baseUrl, pid } = fanfare;
    const credentials = readCredentials(place);
    const api = new ApiClient(baseUrl, credentials);
    const input = {
      baseUrl,
      token: await token(baseUrl, credentials),
      apiKey: credentials.apiKey,
      templateId: await createSmsTemplate(api),
    };
    const measured = await measure({ place, pid, api, input });
    await api.close();
    return measured;
  } finally {
    await fanfare.stop();
  }
}

async function sendPart({ place, pid, input }: Bench, rounds: number, count: number, how: typeof SINGLE) {
  const measured: (LoadResult & { cpu: Cpu; deliveredMs: number })[] = [];
  for (let round = 0; round < rounds; round++) {
    note(`${count} messages in requests of ${how.perRequest}, round ${round + 1} of ${rounds}`);
    const before = cpuMs(pid);
    const prefix = `send${how.perRequest}-${round}`;
    const one = await load({ ...input, ...how, prefix, count, pace: 0 });
    const endedAt = await untilQuiet(place);
    const after = cpuMs(pid);
    const cpu = { all: after.all - before.all, main: after.main - before.main };
    measured.push({ ...one, cpu, deliveredMs: endedAt - one.startedAt });
  }
  return {
    messages: count,
    rounds,
    perSecond: Math.round(median(measured.map((one) => rate(count, one.ms)))),
    perSecondAll: measured.map((one) => Math.round(rate(count, one.ms))),
    p50Ms: median(measured.map((one) => one.latency.p50)),
    p99Ms: median(measured.map((one) => one.latency.p99)),
    throttled: median(measured.map((one) => one.throttled)),
    deliveredPerSecond: Math.round(median(measured.map((one) => rate(count, one.deliveredMs)))),
    cpuMicros: {
      perMessage: Math.round(median(measured.map(({ cpu }) => (cpu.all * 1_000) / count))),
      ofMainThread: Math.round(median(measured.map(({ cpu }) => (cpu.main * 1_000) / count))),
    },
  };
}

async function dispatchPart({ place, api, input }: Bench, pace: number) {
  note(`a minute at ${pace} messages a second`);
  const after = await feedEnd(api);
  const count = pace * 60;
  const one = await load({ ...input, ...SINGLE, prefix: 'paced', count, pace });
  await untilQuiet(place);
  return {
    pace,
    acceptedPerSecond: round2(rate(count, one.ms)),
    acceptP99Ms: one.latency.p99,
    throttled: one.throttled,
    toProviderMs: await toProviderMs(api, after),
  };
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
