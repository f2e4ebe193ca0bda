import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { Pool } from 'undici';
import { cacheDirectory, findTemporalExecutable } from '../../src/temporal/executable';
import {
  type Credentials,
  type FanfareProcess,
  makePlace,
  type Place,
  startFanfare,
} from '../support/fanfare-process';
import { ROOT } from '../support/root';
import type { LoadInput, LoadResult } from './load';

/** What the benchmarks share: the load process, its token, and the figures. */

const run = promisify(execFile);

/** The product, which ends with the benchmark also when that is told to end in the middle. */
export function startProduct(place: Place, args: string[] = ['up']): FanfareProcess {
  const fanfare = startFanfare(place, args);
  const end = () => process.kill(fanfare.pid, 'SIGTERM');
  process.once('exit', end);
  void fanfare.exited.then(() => process.off('exit', end));
  return fanfare;
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

/**
 * A place of its own for a benchmark: a directory, and with DATABASE_URL, which names a server and a user
 * that may create databases, a database that is dropped at the end.
 */
export async function benchPlace(): Promise<Place & { remove(): Promise<void> }> {
  await obtainTemporal();
  const place = await makePlace({
    FANFARE_SIMULATOR_LATENCY_MS: '0',
    LOG_LEVEL: 'error',
    // As `npm start`, the executable and the image have it.
    MALLOC_ARENA_MAX: '2',
    NODE_OPTIONS: `--max-semi-space-size=32 --max-old-space-size=2000 ${process.env.NODE_OPTIONS ?? ''}`,
  });
  const server = process.env.DATABASE_URL;
  if (!server) return { ...place, remove: async () => place.remove() };
  const name = `fanfare_bench_${process.pid}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  place.env.DATABASE_URL = url.href;
  await administer(server, `create database ${name}`);
  return {
    ...place,
    async remove() {
      await place.remove();
      await administer(server, `drop database ${name} with (force)`);
    },
  };
}

/** Building it takes minutes, and the program that is measured has one to become ready. */
async function obtainTemporal(): Promise<void> {
  const { env } = process;
  if (env.TEMPORAL_ADDRESS) return;
  await findTemporalExecutable({
    cliPath: env.TEMPORAL_CLI_PATH,
    cacheDir: cacheDirectory(env),
    env,
    onProgress: note,
  });
}

async function administer(connectionString: string, statement: string): Promise<void> {
  const client = new Client({ connectionString });
  await client.connect();
  await client.query(statement);
  await client.end();
}

export async function load(input: LoadInput): Promise<LoadResult> {
  const { stdout } = await run(process.execPath, [
    join(ROOT, 'dist/test/bench/load.js'),
    JSON.stringify(input),
  ]);
  return JSON.parse(stdout) as LoadResult;
}

export async function token(baseUrl: string, { client }: Pick<Credentials, 'client'>): Promise<string> {
  const pool = new Pool(baseUrl);
  const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64');
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

export function peakMemoryMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024);
}

export interface Cpu {
  /** All threads together, in milliseconds. */
  all: number;
  /** The thread that serves HTTP. */
  main: number;
}

/** CPU a process has used: on a busy machine it is steadier than a rate. */
export function cpuMs(pid: number): Cpu {
  const cpu: Cpu = { all: 0, main: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // In ticks of 10 ms, of the program and of the system on its behalf.
    const ms = (Number(fields[11]) + Number(fields[12])) * 10;
    cpu.all += ms;
    if (Number(thread) === pid) cpu.main += ms;
  }
  return cpu;
}

const IDLE_SECONDS = 30;

/**
 * What a process costs while nothing happens, in percent of a core, and how many transactions a second its database
 * counts; the latter with DATABASE_URL only.
 */
export async function idleCost({ pid, place }: { pid: number; place: Place }) {
  const before = { cpu: cpuMs(pid), transactions: await transactions(place) };
  await new Promise((done) => setTimeout(done, IDLE_SECONDS * 1_000));
  const cpu = cpuMs(pid);
  const after = await transactions(place);
  return {
    cpuPercent: round2((cpu.all - before.cpu.all) / (IDLE_SECONDS * 10)),
    ...(after === undefined || before.transactions === undefined
      ? {}
      : { transactionsPerSecond: round2((after - before.transactions) / IDLE_SECONDS) }),
  };
}

async function transactions({ env }: Place): Promise<number | undefined> {
  if (!env.DATABASE_URL) return undefined;
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  const { rows } = await client.query<{ count: string }>(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  );
  await client.end();
  return Number(rows[0]?.count);
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const rate = (count: number, ms: number): number => (count * 1000) / ms;
export const round2 = (value: number): number => Math.round(value * 100) / 100;
export const note = (text: string): void => void process.stderr.write(`${text}\n`);

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  const [low = Number.NaN, high = low] = [sorted[Math.floor(middle)], sorted[Math.ceil(middle)]];
  return (low + high) / 2;
}

/** Those that the option names, or all that are meant by leaving it out. Ends the process for one there is not. */
export function chosenParts(
  known: readonly string[],
  otherwise: readonly string[],
  name = '--part',
): readonly string[] {
  const parts = option(name)?.split(',') ?? otherwise;
  const unknown = parts.filter((part) => !known.includes(part));
  if (unknown.length === 0) return parts;
  process.stderr.write(`There is no part ${unknown.join()}; there are ${known.join()}\n`);
  process.exit(2);
}

export function option(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

export function numberOption(name: string): number | undefined {
  const given = option(name);
  return given === undefined ? undefined : Number(given);
}
