import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient } from '../support/api-client';
import { runFanfare } from '../support/fanfare-command';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { freePort } from '../support/free-port';
import { until } from '../support/until';

const LIMIT_MS = 180_000;

describe('the database that `fanfare up` runs itself', () => {
  let place: Place;
  let running: FanfareProcess[];

  beforeEach(async () => {
    place = await makePlace({ DATABASE_URL: '', TEMPORAL_ADDRESS: '' });
    running = [];
  });

  afterEach(async () => {
    for (const fanfare of running.reverse()) await fanfare.stop();
    await place.remove();
  });

  function start(env: Record<string, string> = {}, ...args: string[]): FanfareProcess {
    const fanfare = startFanfare(
      { ...place, env: { ...place.env, ...env } },
      args.length > 0 ? args : ['up'],
    );
    running.push(fanfare);
    return fanfare;
  }

  async function up(): Promise<{ fanfare: FanfareProcess; api: ApiClient }> {
    const fanfare = start();
    await untilReady(fanfare);
    return { fanfare, api: new ApiClient(fanfare.baseUrl, readCredentials(place)) };
  }

  const serverPids = () =>
    readFileSync(join(place.dataDir, 'postgres-run', 'postgres.pid'), 'utf8')
      .trim()
      .split(' ')
      .map(Number);

  /** The process that ties the server to ours ends with it, and may be gone before its turn comes. */
  const killIfThere = (pid: number) => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      expect(error).toMatchObject({ code: 'ESRCH' });
    }
  };

  const createList = (api: ApiClient, name: string) =>
    api.expect<{ data: { id: string } }>('POST', '/api/contact-list', { name });

  test(
    'when it dies alone requests answer 503 until it is back, and nothing that was accepted is missing',
    async () => {
      const { fanfare, api } = await up();
      const { data } = await createList(api, 'before');
      const [server = 0] = serverPids();
      const readiness = () => fetch(`${fanfare.baseUrl}/readyz`).then(({ status }) => status);
      process.kill(server, 'SIGKILL');
      await until('a request answers 503', async () => (await readiness()) === 503, 30_000, 20);
      await until('it is ready again', async () => (await readiness()) === 200, 60_000);
      expect(serverPids()[0]).not.toBe(server);
      await api.expect('GET', `/api/contact-list/${data.id}`);
      await createList(api, 'after');
      await api.close();
    },
    LIMIT_MS,
  );

  test(
    'after everything was killed at once, the next start has what was accepted',
    async () => {
      const { fanfare, api } = await up();
      const { data } = await createList(api, 'before');
      await api.close();
      for (const pid of serverPids()) killIfThere(pid);
      await fanfare.killGroup();
      const again = await up();
      await again.api.expect('GET', `/api/contact-list/${data.id}`);
      await again.api.close();
    },
    LIMIT_MS,
  );

  test(
    'serves other processes with the same data directory, and doctor says how to open it',
    async () => {
      const { api } = await up();
      const credentials = readCredentials(place);
      const { data } = await createList(api, 'shared');
      const beside = { TEMPORAL_ADDRESS: credentials.temporal.address };
      const port = String(await freePort());
      const worker = start(beside, 'worker', '--role', 'sender');
      const serve = start({ ...beside, FANFARE_HTTP_PORT: port }, 'serve');
      await untilReady({ ...serve, baseUrl: `http://127.0.0.1:${port}` });
      await until('the worker is ready', () => /Fanfare is ready/.test(worker.output()), 60_000);
      const throughServe = new ApiClient(`http://127.0.0.1:${port}`, credentials);
      await throughServe.expect('GET', `/api/contact-list/${data.id}`);
      await throughServe.close();
      await api.close();
      expect(readCredentials(place)).toEqual(credentials);

      const doctor = await runFanfare(['doctor'], { ...place.env, ...beside }).ended;
      expect(doctor.out).toMatch(/psql 'postgres:\/\/\/fanfare\?host=.*&user=fanfare' opens it/);
      expect((await runFanfare(['migrate'], place.env).ended).code).toBe(0);
    },
    LIMIT_MS,
  );

  test(
    'a worker without DATABASE_URL says that no `fanfare up` runs one, and makes none',
    async () => {
      const worker = start({ TEMPORAL_ADDRESS: '127.0.0.1:1' }, 'worker');
      await until('the reason', () => /no `fanfare up` runs a database on/.test(worker.output()));
      await worker.stop();
      const migrate = await runFanfare(['migrate'], place.env).ended;
      expect(migrate.code).toBe(1);
      expect(migrate.err).toMatch(/Start `fanfare up` with the same FANFARE_DATA_DIR first/);
      expect(existsSync(join(place.dataDir, 'postgres'))).toBe(false);
    },
    LIMIT_MS,
  );
});
