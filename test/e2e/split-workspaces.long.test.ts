import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client as PostgresClient } from 'pg';
import {
  ApiClient,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { addWorkspace } from '../support/as-user';
import {
  type Credentials,
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { freshNamespace } from '../support/namespaces';
import { postgresUrl } from '../support/services';
import { until } from '../support/until';

const PEOPLE = 20;
const LIMIT_MS = 90_000;

type Workspace = Pick<Credentials, 'workspace' | 'client' | 'apiKey'>;

describe('a worker in a process of its own', () => {
  const database = `accounts_${randomUUID().replaceAll('-', '')}`;
  const places: Place[] = [];
  const running: FanfareProcess[] = [];
  const clients: ApiClient[] = [];
  let server: string;
  let first: Workspace;
  let second: Workspace;
  /** What a worker reaches, without credentials. */
  let shared: Record<string, string>;

  beforeAll(async () => {
    server = await postgresUrl();
    await administer(`create database ${database}`);
    const url = new URL(server);
    url.pathname = `/${database}`;
    const { address, namespace } = await freshNamespace();
    const there = {
      DATABASE_URL: url.href,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      FANFARE_SIMULATOR_LATENCY_MS: '0',
    };
    const place = await makePlace(there);
    places.push(place);
    const serve = start(place, 'serve');
    await untilReady(serve);
    const own = readCredentials(place);
    first = own;
    second = await addWorkspace(serve.baseUrl, own.user, 'Second');
    const { baseUrl } = serve;
    shared = { ...there, FANFARE_AUTH_URL: baseUrl, FANFARE_SEND_URL: baseUrl, FANFARE_APP_URL: baseUrl };
    for (const one of [first, second]) clients.push(new ApiClient(baseUrl, one));
  }, 120_000);

  afterAll(async () => {
    for (const client of clients) await client.close();
    await Promise.all(running.map((one) => one.stop()));
    for (const { remove } of places) await remove();
    await administer(`drop database if exists ${database} with (force)`);
  }, 150_000);

  function start(at: Place, ...args: string[]): FanfareProcess {
    const fanfare = startFanfare(at, args);
    running.push(fanfare);
    return fanfare;
  }

  async function administer(statement: string): Promise<void> {
    const client = new PostgresClient({ connectionString: server });
    await client.connect();
    await client.query(statement);
    await client.end();
  }

  /** A worker whose data directory has no credentials. */
  async function startWorker(env: (place: Place) => Record<string, string>): Promise<FanfareProcess> {
    const place = await makePlace(shared);
    places.push(place);
    const worker = start({ ...place, env: { ...place.env, ...env(place) } }, 'worker');
    await until('it is ready', () => worker.output().includes('is ready'), LIMIT_MS, 50);
    return worker;
  }

  async function campaignOf(api: ApiClient): Promise<string> {
    return createSmsCampaign(api, await createList(api, PEOPLE, randomUUID()), await createSmsTemplate(api));
  }

  const end = (api: ApiClient, id: string) => untilPhase(api, id, ['completed', 'failed'], LIMIT_MS);

  test('sends for the workspaces that it has credentials of, and refuses the campaigns of others', async () => {
    const [ofFirst, ofSecond] = clients as [ApiClient, ApiClient];
    const only = await startWorker(() => ({
      FANFARE_CLIENT_ID: second.client.id,
      FANFARE_CLIENT_SECRET: second.client.secret,
      FANFARE_API_KEY: second.apiKey,
    }));
    const [refused, sent] = [await campaignOf(ofFirst), await campaignOf(ofSecond)];
    expect(await end(ofSecond, sent)).toMatchObject({ phase: 'completed', reason: null });
    const failed = await end(ofFirst, refused);
    expect(failed.phase).toBe('failed');
    expect(failed.reason).toMatch(/no credentials to send for workspace/);
    expect(failed.reason).toContain(first.workspace.id);
    for (const [api, messages] of [
      [ofFirst, 0],
      [ofSecond, PEOPLE],
    ] as const) {
      const { data } = await api.expect<{ data: unknown[] }>('GET', '/messages?limit=100');
      expect(data).toHaveLength(messages);
    }

    await only.stop();
    await startWorker((place) => {
      const file = join(place.dataDir, 'accounts.json');
      const accounts = [first, second].map(({ workspace, client, apiKey }) => [
        workspace.id,
        { clientId: client.id, clientSecret: client.secret, apiKey },
      ]);
      writeFileSync(file, JSON.stringify(Object.fromEntries(accounts)), { mode: 0o600 });
      return { FANFARE_SERVICE_CREDENTIALS_FILE: file };
    });
    await ofFirst.expect('POST', `/api/campaign/${refused}/resume`);
    expect(await end(ofFirst, refused)).toMatchObject({ phase: 'completed', reason: null });
    const again = await campaignOf(ofSecond);
    expect(await end(ofSecond, again)).toMatchObject({ phase: 'completed', reason: null });
  }, 300_000);
});
