/**
 * Proves that processes are replaced by those of another build one after the other, while a campaign sends, calls sleep and
 * a fallback waits: all go on, on workflows of the other build, and nothing is sent twice.
 */

import { join } from 'node:path';
import { Connection, Client as TemporalClient } from '@temporalio/client';
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
import { freshNamespace } from '../support/namespaces';
import { makeSecondBuild } from '../support/second-build';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const LIMIT_MS = 180_000;
const PEOPLE = 3_000;
const PER_SECOND = 50;
/** Long enough that both outlast the upgrade of a busy machine. */
const SLEEP_SECONDS = 100;
/** The simulator's numbers that are busy at the first call and answer the second. */
const BUSY_ONCE = ['202', '212', '213', '305', '312', '415'].map((area) => `+1${area}5550199`);
const FALLBACK = ['214', '215', '216', '217'].map((area, i) => ({
  externalId: `f${i}`,
  email: `f${i}+silent@example.com`,
  phone: `+1${area}5550190`,
}));

describe('a rolling upgrade', () => {
  const second = makeSecondBuild();
  const running: FanfareProcess[] = [];
  let place: Place;
  let worker: Place;
  let api: ApiClient;
  let connection: Connection;
  let temporal: TemporalClient;

  beforeAll(async () => {
    const { address, namespace } = await freshNamespace();
    place = await makePlace({
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: namespace,
      FANFARE_INSECURE_LINKS: 'true',
    });
    connection = await Connection.connect({ address });
    temporal = new TemporalClient({ connection, namespace });
  }, LIMIT_MS);

  afterAll(async () => {
    await api?.close();
    await Promise.all(running.map((one) => one.stop()));
    await connection?.close();
    await place?.remove();
    second.remove();
  }, LIMIT_MS);

  function start(at: Place, args: string[], main?: string): FanfareProcess {
    const fanfare = startFanfare(at, args, main);
    running.push(fanfare);
    return fanfare;
  }

  async function startWorker(main?: string): Promise<FanfareProcess> {
    const fanfare = start(worker, ['worker'], main);
    await until('a worker is ready', () => fanfare.output().includes('is ready'), LIMIT_MS, 50);
    return fanfare;
  }

  async function startServe(main?: string): Promise<FanfareProcess> {
    const serve = start(place, ['serve'], main);
    await untilReady(serve);
    await api?.close();
    api = new ApiClient(serve.baseUrl, readCredentials(place));
    return serve;
  }

  async function createFallback(): Promise<string> {
    const { data: list } = await api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: 'f',
    });
    await api.expect('POST', `/api/contact-list/${list.id}/contacts`, { contacts: FALLBACK });
    const { template: mail } = await api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      ...{ templateName: 'mail', channel: 'email', subject: 'Hello', body: '<p>Hello</p>' },
    });
    return createSmsCampaign(api, list.id, await createSmsTemplate(api, 'Hello'), {
      channel: ['email', 'sms'],
      strategy: 'fallback',
      fallbackAfterSeconds: SLEEP_SECONDS,
      settings: {
        email: { fromEmail: 'news@example.com', templateId: mail.id, version: 1 },
        sms: { shortCode: '12345', templateId: await createSmsTemplate(api, 'Hi'), version: 1 },
      },
    });
  }

  /** Processes that have done tasks of workflows since then. */
  async function workersSince(at: number): Promise<Set<number>> {
    const pids = new Set<number>();
    for await (const { workflowId, runId } of temporal.workflow.list()) {
      const { events } = await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
      for (const { eventTime, workflowTaskStartedEventAttributes: begun } of events ?? []) {
        const pid = /^(\d+)@/.exec(begun?.identity ?? '')?.[1];
        if (pid && Number(eventTime?.seconds) * 1_000 > at) pids.add(Number(pid));
      }
    }
    return pids;
  }

  test(
    'leaves a campaign, sleeping calls and a fallback to the new build',
    async () => {
      const serve = await startServe();
      const service = { FANFARE_AUTH_URL: '', FANFARE_SEND_URL: '', FANFARE_APP_URL: '' };
      for (const name of Object.keys(service) as (keyof typeof service)[]) service[name] = serve.baseUrl;
      worker = { ...place, env: { ...place.env, ...service } };
      const old = [await startWorker(), await startWorker()];

      const calls = await createVoiceCampaign(
        api,
        BUSY_ONCE.map((phone) => ({ phone })),
        { voice: { retry: { busy: { maxAttempts: 2, delaysSeconds: [SLEEP_SECONDS] } } } },
      );
      const fallback = await createFallback();
      const big = await createSmsCampaign(api, await createList(api, PEOPLE), await createSmsTemplate(api), {
        delivery: { ratePerSecond: PER_SECOND },
      });
      await until(
        'calls sleep, and the fallback waits',
        async () =>
          (await campaignDetail(api, calls)).counts.voice?.waiting === BUSY_ONCE.length &&
          (await campaignDetail(api, fallback)).counts.email?.sent === FALLBACK.length,
        LIMIT_MS,
      );

      const fresh: FanfareProcess[] = [];
      for (const one of old) {
        fresh.push(await startWorker(second.main));
        expect(await one.stop()).toBe(0);
      }
      expect(await serve.stop()).toBe(0);
      await startServe(second.main);
      const upgradedAt = Date.now();
      const { counts: then } = await campaignDetail(api, big);
      expect(then.sms?.pending).toBeGreaterThan(0);
      expect((await campaignDetail(api, calls)).counts.voice?.waiting).toBe(BUSY_ONCE.length);
      expect((await campaignDetail(api, fallback)).phase).toBe('running');

      const { counts } = await untilPhase(api, big, ['completed', 'failed'], LIMIT_MS);
      expect(counts.sms).toMatchObject({ total: PEOPLE, pending: 0, waiting: 0, sending: 0, unknown: 0 });
      const called = await untilPhase(api, calls, ['completed', 'failed'], LIMIT_MS);
      expect(called.counts.voice).toMatchObject({ total: BUSY_ONCE.length, delivered: BUSY_ONCE.length });
      await untilPhase(api, fallback, ['completed', 'failed'], LIMIT_MS);
      // A run is completed when its messages are sent; their receipts may come later.
      await until(
        'each contact of the fallback has the SMS',
        async () => (await campaignDetail(api, fallback)).counts.sms?.delivered === FALLBACK.length,
        LIMIT_MS,
      );
      expect((await campaignDetail(api, fallback)).counts.sms?.total).toBe(FALLBACK.length);

      for (const channel of ['sms', 'voice', 'email'] as const) {
        const { duplicates, duplicateUids } = readRecord(join(place.dataDir, 'simulator'), channel);
        expect([channel, duplicates, duplicateUids]).toEqual([channel, [], []]);
      }
      expect(readRecord(join(place.dataDir, 'simulator'), 'voice').distinct).toBe(2 * BUSY_ONCE.length);
      const pids = [...(await workersSince(upgradedAt))];
      expect(pids.length).toBeGreaterThan(0);
      expect(fresh.map(({ pid }) => pid)).toEqual(expect.arrayContaining(pids));
    },
    3 * LIMIT_MS,
  );
});
