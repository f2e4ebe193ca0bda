import { ApiClient, createSmsTemplate } from '../support/api-client';
import { makePlace, type Place, readCredentials, startFanfare, untilReady } from '../support/fanfare-process';
import { feedEnd, toProviderMs, untilQuiet } from './delivered';
import type { LoadInput, LoadResult } from './load';
import { type Cpu, cpuMs, load, median, note, numberOption, option, peakMemoryMb, rate, round2, token } from './rig';
import { fillMessages, readStored } from './stored';

/**
 * The messaging service under load, as one process that does everything (`fanfare up`), with the load in
 * another. Prints one line of JSON. DATABASE_URL chooses the engine.
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
const CONNECTIONS = 50;
const BULK_MESSAGES = 500;

interface Bench {
  place: Place;
  pid: number;
  api: ApiClient;
  input: Omit<LoadInput, 'prefix' | 'count' | 'perRequest' | 'pace'>;
}

async function main(): Promise<void> {
  const parts = option('--part')?.split(',') ?? PARTS;
  const rounds = numberOption('--rounds') ?? 3;
  const count = numberOption('--count') ?? 20_000;
  const result: Record<string, unknown> = {
    engine: process.env.DATABASE_URL ? 'postgres' : 'embedded',
    node: process.versions.node,
  };
  const place = await makePlace({ FANFARE_SIMULATOR_LATENCY_MS: '0', LOG_LEVEL: 'error' });
  try {
    const loaded = parts.filter((part) => part !== 'stored');
    if (loaded.length > 0) {
      await withService(place, async (bench) => {
        // The first seconds compile.
        await load({ ...bench.input, prefix: 'warm', count: 3_000, perRequest: 1, pace: 0 });
        await untilQuiet(place);
        if (loaded.includes('send')) result.send = await sendPart(bench, rounds, count, 1);
        if (loaded.includes('bulk')) result.bulk = await sendPart(bench, rounds, count, BULK_MESSAGES);
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
    place.remove();
  }
}

async function withService<T>(place: Place, measure: (bench: Bench) => Promise<T>): Promise<T> {
  const fanfare = startFanfare(place);
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
      connections: CONNECTIONS,
    };
    const measured = await measure({ place, pid, api, input });
    await api.close();
    return measured;
  } finally {
    await fanfare.stop();
  }
}

async function sendPart({ place, pid, input }: Bench, rounds: number, count: number, perRequest: number) {
  const measured: (LoadResult & { cpu: Cpu; deliveredMs: number })[] = [];
  for (let round = 0; round < rounds; round++) {
    note(`${count} messages in requests of ${perRequest}, round ${round + 1} of ${rounds}`);
    const before = cpuMs(pid);
    const prefix = `send${perRequest}-${round}`;
    const one = await load({ ...input, prefix, count, perRequest, pace: 0 });
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
  const one = await load({ ...input, prefix: 'paced', count, perRequest: 1, pace });
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
