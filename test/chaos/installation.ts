import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createLog } from '../../src/log';
import { startDevServer } from '../../src/temporal/dev-server';
import { cacheDirectory, findTemporalExecutable } from '../../src/temporal/executable';
import { freePort } from '../support/free-port';
import { type Line, openLine } from '../support/line';
import { answers, makeCluster } from '../support/postgres-server';
import { MAIN, ROOT } from '../support/root';
import { until } from '../support/until';
import type { Fault, LineName, ProcessName } from './schedule';
import { Supervised } from './supervised';
import { type Owner, twoWorkspaces, type Workspace, writeServiceAccounts } from './workspaces';

export const START_MS = 120_000;
/** How long a kill waits for something to be under way. */
const HAND_OVER_MS = 5_000;

export interface Installation {
  baseUrl: string;
  owner: Owner;
  /** Where the service reaches the carrier. */
  carrierUrl: string;
  workspaces: readonly Workspace[];
  /** What the carrier took, in its own words. */
  carrierRecord: string;
  begin(fault: Fault, lastsMs: number): Promise<void>;
  end(fault: Fault): void;
  /** Processes that ended by themselves, and what they said last. */
  ownExits(): { name: string; exits: number; words: string }[];
  stop(): Promise<void>;
}

/**
 * Fanfare as a company runs it: PostgreSQL, a Temporal server, two processes of the service, an orchestrator, two
 * senders and a worker for calls, each a process of its own, and a carrier outside; every connection that matters goes through a line that
 * can be cut.
 */
export async function startInstallation({ breakClaim }: { breakClaim: boolean }): Promise<Installation> {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-chaos-'));
  const dataDir = join(directory, 'data');
  // A commit must outlive the server's own death, as it does by default; the machine lives on.
  const cluster = await makeCluster({ synchronous_commit: 'on' });
  const postgres = new Supervised('postgres', cluster.command, cluster.args, cluster.options);
  postgres.start();
  await until('PostgreSQL', () => answers(cluster.url), START_MS, 100);
  const { path: executable } = await findTemporalExecutable({
    cliPath: process.env.TEMPORAL_CLI_PATH,
    cacheDir: cacheDirectory(process.env),
    env: process.env,
    onProgress: (text) => process.stderr.write(`${text}\n`),
  });
  const temporal = await startDevServer({
    executable,
    dataDir: join(directory, 'temporal'),
    namespace: 'default',
    log: createLog('silent'),
    preferredPorts: { grpc: 0, ui: 0 },
  });
  const ports = { serve: await freePort(), 'serve-2': await freePort(), carrier: await freePort() };
  let connections = 0;
  const lines: Record<LineName, Line> = {
    database: await openLine(() => cluster.port),
    temporal: await openLine(() => Number(temporal.address.split(':')[1])),
    // Connections to the two in turn, as a load balancer does. With a broken claim there is one, so that its kill meets
    // all that is with the carrier.
    service: await openLine(() => ports[breakClaim || ++connections % 2 ? 'serve' : 'serve-2']),
    carrier: await openLine(() => ports.carrier),
  };

  const inboundSecret = 'of-the-chaos-test-0123456789';
  const through = (name: LineName): string => `http://127.0.0.1:${lines[name].port}`;
  const env: Record<string, string> = {
    ...(process.env as Record<string, string>),
    DATABASE_URL: cluster.url.replace(`:${cluster.port}/`, `:${lines.database.port}/`),
    TEMPORAL_ADDRESS: `127.0.0.1:${lines.temporal.port}`,
    FANFARE_DATA_DIR: dataDir,
    FANFARE_HTTP_PORT: String(ports.serve),
    FANFARE_INBOUND_SECRET: inboundSecret,
    FANFARE_EMAIL_PROVIDER: 'http',
    // What is sent again under its key is not seen at a carrier that knows keys, so the broken claim has none.
    FANFARE_EMAIL_HTTP_URL: through('carrier') + (breakClaim ? '/each' : '/once'),
    FANFARE_EMAIL_HTTP_IDEMPOTENT: String(!breakClaim),
    FANFARE_SMS_PROVIDER: 'http',
    FANFARE_SMS_HTTP_URL: `${through('carrier')}/each`,
    FANFARE_VOICE_PROVIDER: 'http',
    FANFARE_VOICE_HTTP_URL: `${through('carrier')}/each`,
    LOG_LEVEL: 'error',
  };
  const accounts = join(directory, 'service-accounts.json');
  const worker: Record<string, string> = { ...env, FANFARE_SERVICE_CREDENTIALS_FILE: accounts };
  for (const name of ['AUTH', 'SEND', 'APP']) worker[`FANFARE_${name}_URL`] = through('service');
  const broken = breakClaim ? ['--require', join(ROOT, 'test/chaos/broken-claim.cjs')] : [];
  const small = ['--require', join(ROOT, 'test/chaos/small-pieces.cjs')];
  const node = (name: string, args: string[], of = worker) =>
    new Supervised(name, process.execPath, args, { env: of });
  const processes: Record<ProcessName, Supervised> = {
    serve: node('serve', [...broken, MAIN, 'serve'], env),
    'serve-2': node('serve-2', [...broken, MAIN, 'serve'], {
      ...env,
      FANFARE_HTTP_PORT: String(ports['serve-2']),
    }),
    orchestrator: node('orchestrator', [...small, MAIN, 'worker', '--role', 'orchestrator']),
    'sender-1': node('sender-1', [MAIN, 'worker', '--role', 'sender']),
    'sender-2': node('sender-2', [MAIN, 'worker', '--role', 'sender']),
    voice: node('voice', [MAIN, 'worker', '--role', 'voice']),
  };
  const carrierRecord = join(directory, 'carrier.ndjson');
  const carrier = carrierProcess(
    ports.carrier,
    carrierRecord,
    `${through('service')}/inbound/http/${inboundSecret}`,
  );
  const baseUrl = through('service');
  const isUp = (name: 'serve' | 'serve-2') => isReady(`http://127.0.0.1:${ports[name]}`);

  async function stop(): Promise<void> {
    await Promise.all([...Object.values(processes), carrier].map((one) => one.stop()));
    for (const line of Object.values(lines)) line.close();
    await temporal.stop();
    await postgres.stop();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    rmSync(cluster.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  let workspaces: Workspace[];
  let owner: Owner;
  try {
    carrier.start();
    processes.serve.start();
    await until('the service', () => isUp('serve'), START_MS, 100);
    if (!breakClaim) {
      processes['serve-2'].start();
      await until('the other process of it', () => isUp('serve-2'), START_MS, 100);
    }
    ({ owner, workspaces } = await twoWorkspaces(baseUrl, dataDir));
    writeServiceAccounts(accounts, workspaces);
    const workers = (['orchestrator', 'sender-1', 'sender-2', 'voice'] as const).map(
      (name) => processes[name],
    );
    for (const one of workers) one.start();
    await until('the workers', () => workers.every(({ words }) => words.includes('ready')), START_MS, 100);
  } catch (error) {
    process.stderr.write(processes.serve.words);
    await stop();
    throw error;
  }
  return {
    ...{ baseUrl, owner, workspaces, carrierRecord },
    carrierUrl: through('carrier'),
    async begin(fault, lastsMs) {
      if (fault.kind === 'cut') lines[fault.target].cut();
      else if (fault.kind === 'refuse') refuseAccount(carrierRecord);
      else if (fault.kind === 'stall') processes[fault.target as ProcessName].stall();
      else if (fault.kind === 'kill' && fault.target === 'temporal') process.kill(temporal.pid, 'SIGKILL');
      else if (fault.kind === 'kill' && fault.target === 'postgres') postgres.kill(lastsMs);
      else if (fault.kind === 'kill') {
        if (fault.target.startsWith('serve')) await handOver(carrierRecord);
        processes[fault.target as ProcessName].kill(lastsMs);
      }
    },
    end(fault) {
      if (fault.kind === 'cut') lines[fault.target].mend();
      else if (fault.kind === 'refuse') takeAccounts(carrierRecord);
      else if (fault.kind === 'stall') processes[fault.target as ProcessName].goOn();
    },
    ownExits: () => exitsOf(Object.values(processes)),
    stop,
  };
}

/** A carrier outside, which writes down what it takes and reports what became of it. */
export function carrierProcess(port: number, record: string, inboundUrl: string): Supervised {
  const program = join(__dirname, `carrier${extname(__filename)}`);
  return new Supervised(
    'carrier',
    process.execPath,
    [...process.execArgv, program, String(port), record, inboundUrl],
    {},
  );
}

/** The carrier refuses an account of ours: where there are two (accounts.ts) the one, the other and both in turn. */
export function refuseAccount(carrierRecord: string): void {
  const account = REFUSED_IN_TURN[refusals++ % REFUSED_IN_TURN.length] as string;
  writeFileSync(`${carrierRecord}.refused`, account);
}

const REFUSED_IN_TURN = ['a', 'b', ''];
let refusals = 0;

export const takeAccounts = (carrierRecord: string): void =>
  rmSync(`${carrierRecord}.refused`, { force: true });

export const exitsOf = (processes: readonly Supervised[]) =>
  processes.filter(({ exits }) => exits > 0).map(({ name, exits, words }) => ({ name, exits, words }));

/** The service is killed where it hurts: when the carrier has just taken what it has not answered yet. */
export async function handOver(carrierRecord: string): Promise<void> {
  const size = () => statSync(carrierRecord, { throwIfNoEntry: false })?.size ?? 0;
  const before = size();
  for (const limit = Date.now() + HAND_OVER_MS; size() === before && Date.now() < limit; ) await delay(2);
}

export async function isReady(baseUrl: string): Promise<boolean> {
  return fetch(`${baseUrl}/readyz`).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.status === 200;
    },
    () => false,
  );
}
