import { randomUUID } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, Client as TemporalClient } from '@temporalio/client';
import { Client as PostgresClient } from 'pg';
import { readRecord } from '../../src/providers/simulator/simulator-record';
import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { type Line, openLine } from '../support/line';
import { freshNamespace } from '../support/namespaces';
import { postgresUrl } from '../support/services';
import { until } from '../support/until';

const PEOPLE = 40_000;
const FEW = 20;
/** More than are launched at once. */
const SENDS = 100;
/** Slow enough that pages are left when the second sender is ready; 40,000 would take 40 s with it. */
const PER_SECOND = 1_000;
const LIMIT_MS = 120_000;

describe('the roles in processes of their own', () => {
  const database = `split_${randomUUID().replaceAll('-', '')}`;
  const running: FanfareProcess[] = [];
  const lines: Line[] = [];
  let server: string;
  let place: Place;
  let worker: Place;
  let serve: FanfareProcess;
  let api: ApiClient;
  let connection: Connection;
  let temporal: TemporalClient;

  beforeAll(async () => {
    server = await postgresUrl();
    await administer(`create database ${database}`);
    const url = new URL(server);
    url.pathname = `/${database}`;
    const { address, namespace } = await freshNamespace();
    place = await makePlace({
      DATABASE_URL: url.href,
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      FANFARE_SIMULATOR_LATENCY_MS: '0',
    });
    connection = await Connection.connect({ address });
    temporal = new TemporalClient({ connection, namespace });
    serve = start(place, 'serve');
    await untilReady(serve);
    api = new ApiClient(serve.baseUrl, readCredentials(place));
    const service = { FANFARE_AUTH_URL: '', FANFARE_SEND_URL: '', FANFARE_APP_URL: '' };
    for (const name of Object.keys(service) as (keyof typeof service)[]) service[name] = serve.baseUrl;
    worker = { ...place, env: { ...place.env, ...service } };
  }, 120_000);

  afterAll(async () => {
    await api?.close();
    await connection?.close();
    await Promise.all(running.map((one) => one.stop()));
    for (const line of lines) line.close();
    await place?.remove();
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

  const saysReady = (fanfare: FanfareProcess) =>
    until('it is ready', () => fanfare.output().includes('is ready'), LIMIT_MS, 50);

  /** Pages that this process has begun, as its shards' histories tell. */
  async function pagesOf({ pid }: FanfareProcess): Promise<number> {
    let pages = 0;
    for await (const { workflowId, runId } of temporal.workflow.list({
      query: 'WorkflowType = "channelShard"',
    })) {
      const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
      const identities = (events ?? []).map((event) => event.activityTaskStartedEventAttributes?.identity);
      pages += identities.filter((identity) => identity?.startsWith(`${pid}@`)).length;
    }
    return pages;
  }

  test('a worker waits for the credentials that serve writes, and does not claim to be ready without any', async () => {
    const { DATABASE_URL = '', TEMPORAL_ADDRESS = '', TEMPORAL_NAMESPACE = '' } = place.env;
    const lonely = await makePlace({ DATABASE_URL, TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE });
    const early = start(lonely, 'worker');
    await until('it says what is missing', () => early.output().includes('FANFARE_AUTH_URL'), LIMIT_MS, 50);
    expect(early.output()).not.toContain('is ready');
    copyFileSync(join(place.dataDir, 'credentials.json'), join(lonely.dataDir, 'credentials.json'));
    await saysReady(early);
    await early.stop();
    await lonely.remove();
  });

  test('share a campaign, while senders come and go and the orchestrator is killed', async () => {
    const orchestrator = start(worker, 'worker', '--role', 'orchestrator');
    const first = start(worker, 'worker', '--role', 'sender');
    await Promise.all([saysReady(orchestrator), saysReady(first)]);
    const list = await createList(api, PEOPLE);
    const few = await createList(api, FEW, 'few', 3_000_000);
    const template = await createSmsTemplate(api);
    const pace = { delivery: { ratePerSecond: PER_SECOND } };
    const id = await createSmsCampaign(api, list, template, pace);
    const others: string[] = [];
    const sent = async () => {
      const { pending = PEOPLE } = (await campaignDetail(api, id)).counts.sms ?? {};
      return PEOPLE - pending;
    };
    await until('sending has begun', async () => (await sent()) > 0, LIMIT_MS, 50);

    const second = start(worker, 'worker', '--role', 'sender');
    await saysReady(second);
    // The campaign has some ten pages, and the first sender was seen to get each of them. With the pages of small
    // campaigns beside it there are enough for both.
    const begun = async () => {
      others.push(await createSmsCampaign(api, few, template));
      return (await pagesOf(second)) > 0;
    };
    await until('the second sender has pages', begun, LIMIT_MS, 500);
    await first.killGroup();
    await orchestrator.killGroup();
    await api.expect('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond: null } });
    const { phase, counts } = await campaignDetail(api, id);
    expect(['running', 'finishing']).toContain(phase);
    expect((counts.sms?.delivered ?? 0) < PEOPLE).toBe(true);

    // The next one is there before it can reach anything.
    const [databaseLine, temporalLine] = await Promise.all(
      [worker.env.DATABASE_URL, `tcp://${worker.env.TEMPORAL_ADDRESS}`].map((url) =>
        openLine(() => Number(new URL(url ?? '').port)),
      ),
    );
    if (!databaseLine || !temporalLine) throw new Error('no lines');
    lines.push(databaseLine, temporalLine);
    for (const line of lines) line.cut();
    const next = start(
      {
        ...worker,
        env: {
          ...worker.env,
          DATABASE_URL: (worker.env.DATABASE_URL ?? '').replace(/:\d+\//, `:${databaseLine.port}/`),
          TEMPORAL_ADDRESS: `127.0.0.1:${temporalLine.port}`,
        },
      },
      'worker',
      '--role',
      'orchestrator',
    );
    const waitsFor = (what: RegExp) => until(String(what), () => what.test(next.output()), LIMIT_MS, 50);
    await waitsFor(/PostgreSQL at DATABASE_URL does not answer: .*; trying again/);
    databaseLine.mend();
    await waitsFor(/The Temporal server at .* cannot be reached: .*; trying again/);
    temporalLine.mend();
    await saysReady(next);
    expect(next.output()).not.toMatch(/\n\s+at /);

    const done = await untilPhase(api, id, ['completed', 'failed'], LIMIT_MS);
    expect(done).toMatchObject({ phase: 'completed', reason: null });
    const { total, pending, waiting, sending, accepted, unknown } = done.counts.sms ?? {};
    expect({ total, pending, waiting, sending, accepted, unknown }).toEqual({
      total: PEOPLE,
      pending: 0,
      waiting: 0,
      sending: 0,
      accepted: 0,
      unknown: 0,
    });
    for (const other of others) await untilPhase(api, other, ['completed'], LIMIT_MS);
    const record = readRecord(join(place.dataDir, 'simulator'), 'sms');
    expect([record.duplicates, record.duplicateUids]).toEqual([[], []]);
    // Recipients who were not handed over were refused by the simulator, because of their address.
    const rejected = [id, ...others].map(
      async (one) => (await campaignDetail(api, one)).counts.sms?.rejected ?? 0,
    );
    const refused = (await Promise.all(rejected)).reduce((sum, one) => sum + one, 0);
    expect(record.distinct + refused).toBeGreaterThanOrEqual(PEOPLE + others.length * FEW);
  }, 300_000);

  test('go on with what `serve` had in its memory as soon as it is there again', async () => {
    const template = await createSmsTemplate(api);
    const sends = Array.from({ length: SENDS }, (_, i) => ({
      ...{ channel: 'sms', uid: `of-killed-${i}`, from: '+15005550006' },
      ...{ to: `+1500556${String(1_000 + i)}`, 'template-id': template, params: { NAME: 'Ann' } },
    }));
    const asked = sends.map((send) => api.expect<{ data: { id: string } }>('POST', '/api/send', send));
    const ids = (await Promise.all(asked)).map(({ data }) => data.id);
    await serve.killGroup();
    serve = start(place, 'serve');
    await untilReady(serve);
    const since = performance.now();
    for (const id of ids)
      await until(
        `send ${id} is handed over`,
        async () => {
          const { data } = await api.expect<{ data: { state: string } }>('GET', `/api/send/${id}`);
          return !['pending', 'waiting', 'sending', 'accepted'].includes(data.state);
        },
        LIMIT_MS,
        100,
      );
    // Without this a look of the workers would find them, after 30 to 90 s.
    expect(performance.now() - since).toBeLessThan(28_000);
  }, 180_000);
});
