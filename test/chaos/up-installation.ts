import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../support/free-port';
import { isAlive } from '../support/is-alive';
import { openLine } from '../support/line';
import { MAIN } from '../support/root';
import { until } from '../support/until';
import {
  carrierProcess,
  exitsOf,
  handOver,
  type Installation,
  isReady,
  refuseAccount,
  START_MS,
  takeAccounts,
} from './installation';
import { Supervised } from './supervised';
import { type Owner, twoWorkspaces, type Workspace } from './workspaces';

/** Where `up` writes the process ids of a server and of the watchdog that ends it with `up`. */
const PID_FILES = { postgres: join('postgres-run', 'postgres.pid'), temporal: 'temporal.pid' };
type ServerName = keyof typeof PID_FILES;

/** Fanfare as a newcomer runs it: `fanfare up` with a PostgreSQL and a Temporal server of its own, and a carrier outside. */
export async function startUp(): Promise<Installation> {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-chaos-'));
  const dataDir = join(directory, 'data');
  const ports = { service: await freePort(), carrier: await freePort() };
  const line = await openLine(() => ports.carrier);
  const carrierUrl = `http://127.0.0.1:${line.port}`;
  const inboundSecret = 'of-the-chaos-test-0123456789';
  const env: Record<string, string> = {
    ...(process.env as Record<string, string>),
    DATABASE_URL: '',
    FANFARE_DATA_DIR: dataDir,
    FANFARE_HTTP_PORT: String(ports.service),
    FANFARE_INBOUND_SECRET: inboundSecret,
    FANFARE_EMAIL_PROVIDER: 'http',
    FANFARE_EMAIL_HTTP_URL: `${carrierUrl}/once`,
    FANFARE_EMAIL_HTTP_IDEMPOTENT: 'true',
    FANFARE_SMS_PROVIDER: 'http',
    FANFARE_SMS_HTTP_URL: `${carrierUrl}/each`,
    FANFARE_VOICE_PROVIDER: 'http',
    FANFARE_VOICE_HTTP_URL: `${carrierUrl}/each`,
    LOG_LEVEL: 'error',
  };
  const baseUrl = `http://127.0.0.1:${ports.service}`;
  const carrierRecord = join(directory, 'carrier.ndjson');
  const carrier = carrierProcess(ports.carrier, carrierRecord, `${baseUrl}/inbound/http/${inboundSecret}`);
  const up = new Supervised('up', process.execPath, [MAIN, 'up'], { env });

  /** The server itself first, then what watches over it. */
  function pidsOf(server: ServerName): number[] {
    try {
      const pids = readFileSync(join(dataDir, PID_FILES[server]), 'utf8').trim().split(' ');
      return pids.map(Number).filter((pid) => pid > 0);
    } catch {
      // It is being started anew.
      return [];
    }
  }

  async function stop(): Promise<void> {
    await Promise.all([up.stop(), carrier.stop()]);
    line.close();
    await until(
      'the servers to end',
      () => (['postgres', 'temporal'] as const).every((name) => !pidsOf(name).some(isAlive)),
      START_MS,
      100,
    );
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }

  let workspaces: Workspace[];
  let owner: Owner;
  carrier.start();
  up.start();
  try {
    await until('the service', () => isReady(baseUrl), START_MS, 100);
    ({ owner, workspaces } = await twoWorkspaces(baseUrl, dataDir));
  } catch (error) {
    process.stderr.write(up.words);
    await stop();
    throw error;
  }
  return {
    ...{ baseUrl, owner, carrierUrl, workspaces, carrierRecord },
    async begin(fault, lastsMs) {
      if (fault.kind === 'cut') return line.cut();
      if (fault.kind === 'stall') return up.stall();
      if (fault.kind === 'refuse') return refuseAccount(carrierRecord);
      if (fault.kind !== 'kill') return;
      if (fault.target === 'postgres' || fault.target === 'temporal')
        return kill(pidsOf(fault.target).slice(0, 1));
      await handOver(carrierRecord);
      const servers = fault.target === 'everything' ? [...pidsOf('postgres'), ...pidsOf('temporal')] : [];
      up.kill(lastsMs);
      kill(servers);
    },
    end(fault) {
      if (fault.kind === 'cut') line.mend();
      else if (fault.kind === 'refuse') takeAccounts(carrierRecord);
      else if (fault.kind === 'stall') up.goOn();
    },
    ownExits: () => exitsOf([up]),
    stop,
  };
}

function kill(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended in this moment.
    }
  }
}
