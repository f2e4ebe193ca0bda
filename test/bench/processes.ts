import { join } from 'node:path';
import { createLog } from '../../src/log';
import { startManagedPostgres } from '../../src/storage/managed/managed-postgres';
import { startDevServer } from '../../src/temporal/dev-server';
import { cacheDirectory, findTemporalExecutable } from '../../src/temporal/executable';
import { ApiClient } from '../support/api-client';
import { type FanfareProcess, type Place, readCredentials, untilReady } from '../support/fanfare-process';
import { freePort } from '../support/free-port';
import { until } from '../support/until';
import { withPlace } from './campaign-rig';
import { AT_ONCE, Carrier, openCarrierLine } from './carrier';
import { type CpuBy, cpuOfInstallation, type Program, postmasterOf } from './process-cpu';
import { chosenParts, note, startProduct } from './rig';

/**
 * Campaigns to a carrier over HTTP that answers at once, with as many processes as `--of` names: one that does everything,
 * `fanfare serve` and `fanfare worker`, or two of each. PostgreSQL and Temporal's server run beside them. `--contacts`
 * and `--rounds` as for `carrier`.
 */
const COUNTS = ['1', '2', '4'] as const;
const START_MS = 120_000;

export async function processesPart(): Promise<unknown> {
  const result: Record<string, unknown> = {};
  for (const count of chosenParts(COUNTS, COUNTS, '--of')) {
    const carrier = await Carrier.start();
    try {
      result[count] = await withPlace((place) =>
        withServers(place, (temporal) => measure(place, count, carrier, { temporal, carrier: carrier.pid })),
      );
    } finally {
      carrier.stop();
    }
  }
  return result;
}

/** Writes into the place's environment where PostgreSQL and Temporal's server are. The work gets the latter's process id. */
async function withServers<T>({ env, dataDir }: Place, work: (temporal: number) => Promise<T>): Promise<T> {
  const log = createLog('silent');
  const { path: executable } = await findTemporalExecutable({
    ...{ cliPath: env.TEMPORAL_CLI_PATH, cacheDir: cacheDirectory(env), env },
    onProgress: note,
  });
  const temporal = await startDevServer({
    ...{ executable, dataDir: join(dataDir, 'temporal'), namespace: 'default', log },
    preferredPorts: { grpc: 0, ui: 0 },
  });
  const postgres = env.DATABASE_URL
    ? undefined
    : await startManagedPostgres({ dataDir: join(dataDir, 'database'), env, log });
  try {
    if (postgres) env.DATABASE_URL = postgres.url;
    env.TEMPORAL_ADDRESS = temporal.address;
    return await work(temporal.pid);
  } finally {
    await postgres?.stop();
    await temporal.stop();
  }
}

async function measure(place: Place, count: string, carrier: Carrier, others: CpuBy): Promise<unknown> {
  Object.assign(place.env, { FANFARE_SMS_PROVIDER: 'http', FANFARE_SMS_HTTP_URL: carrier.url });
  const running: { name: string; fanfare: FanfareProcess }[] = [];
  const start = (at: Place, name: string) => {
    const fanfare = startProduct(at, [name]);
    running.push({ name, fanfare });
    return fanfare;
  };
  try {
    note(`${count} of ours:`);
    const first = count === '1' ? start(place, 'up') : await startPair(place, start);
    if (count === '4') await startPair(await withOwnPort(place), start);
    await untilReady(first);
    const api = new ApiClient(first.baseUrl, readCredentials(place));
    const postmaster = await postmasterOf(place.env.DATABASE_URL ?? '');
    const programs = running.map(({ name, fanfare }): Program => ({ name, pid: fanfare.pid }));
    const cpu = () => cpuOfInstallation(programs, postmaster, others);
    const line = await openCarrierLine({ api, place, carrier, cpu });
    const figures = await line(`${count} of ours`, AT_ONCE);
    await api.close();
    return figures;
  } catch (error) {
    for (const { fanfare } of running) note(fanfare.output());
    throw error;
  } finally {
    await Promise.all(running.map(({ fanfare }) => fanfare.stop()));
  }
}

type Start = (at: Place, name: string) => FanfareProcess;

/** One that answers HTTP and hands over, and one that runs the campaigns and gives it their messages. */
async function startPair(place: Place, start: Start): Promise<FanfareProcess> {
  const serve = start(place, 'serve');
  await untilReady(serve);
  const service = ['AUTH', 'SEND', 'APP'].map((name) => [`FANFARE_${name}_URL`, serve.baseUrl]);
  const worker = start({ ...place, env: { ...place.env, ...Object.fromEntries(service) } }, 'worker');
  await until('the worker', () => worker.output().includes('ready'), START_MS, 100);
  return serve;
}

async function withOwnPort(place: Place): Promise<Place> {
  return { ...place, env: { ...place.env, FANFARE_HTTP_PORT: String(await freePort()) } };
}
