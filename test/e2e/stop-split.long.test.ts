import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { addWorkspace } from '../support/as-user';
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

const OUR_CONTACTS = 3_000;
const OUR_RATE = 150;
const THEIR_CONTACTS = 2_000;
const THEIR_RATE = 50;
const OURS = '12345';
const THEIRS = '54321';
const LIMIT_MS = 120_000;
/** Longer than the second within which nothing more may be handed over. */
const QUIET_MS = 4_000;

interface Taken {
  uid: string;
  from: string;
  at: number;
}

/** Two processes serve the API and hand messages over, and two run the campaigns of both workspaces. */
describe('a workspace that is stopped, whose work is split over processes', () => {
  const running: FanfareProcess[] = [];
  let carrier: Server;
  /** The carrier's own record, which no other part writes. */
  let taken: Taken[];
  let place: Place;
  let secondPlace: Place;
  let workerPlace: Place;
  let secondServe: FanfareProcess;
  let workers: FanfareProcess[];
  let api: ApiClient;
  /** The same workspace, asked of the other process. */
  let elsewhere: ApiClient;
  let theirs: ApiClient;

  beforeAll(async () => {
    taken = [];
    carrier = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const { uid, from } = JSON.parse(Buffer.concat(chunks).toString()) as Taken;
        taken.push({ uid, from, at: Date.now() });
        setTimeout(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'), 20);
      });
    });
    await new Promise<void>((done) => carrier.listen(0, '127.0.0.1', done));
    const { port } = carrier.address() as AddressInfo;
    place = await makePlace({
      FANFARE_SMS_PROVIDER: 'http',
      FANFARE_SMS_HTTP_URL: `http://us:key@127.0.0.1:${port}/`,
    });
    const serve = start(place, 'serve');
    await untilReady(serve);
    secondPlace = { ...place, env: { ...place.env, FANFARE_HTTP_PORT: String(await freePort()) } };
    secondServe = start(secondPlace, 'serve');
    await untilReady(secondServe);
    const own = readCredentials(place);
    const second = await addWorkspace(serve.baseUrl, own.user, 'Second');
    api = new ApiClient(serve.baseUrl, own);
    elsewhere = new ApiClient(secondServe.baseUrl, own);
    theirs = new ApiClient(serve.baseUrl, second);
    const file = join(place.dataDir, 'accounts.json');
    const accounts = [own, second].map(({ workspace, client, apiKey }) => [
      workspace.id,
      { clientId: client.id, clientSecret: client.secret, apiKey },
    ]);
    writeFileSync(file, JSON.stringify(Object.fromEntries(accounts)), { mode: 0o600 });
    const { baseUrl } = serve;
    workerPlace = {
      ...place,
      env: {
        ...place.env,
        FANFARE_AUTH_URL: baseUrl,
        FANFARE_SEND_URL: baseUrl,
        FANFARE_APP_URL: baseUrl,
        FANFARE_SERVICE_CREDENTIALS_FILE: file,
      },
    };
    workers = [await startWorker(), await startWorker()];
  }, LIMIT_MS);

  afterAll(async () => {
    for (const client of [api, elsewhere, theirs]) await client?.close();
    await Promise.all(running.map((one) => one.stop()));
    await place?.remove();
    carrier?.close();
    carrier?.closeAllConnections();
  }, LIMIT_MS);

  function start(at: Place, ...args: string[]): FanfareProcess {
    const fanfare = startFanfare(at, args);
    running.push(fanfare);
    return fanfare;
  }

  async function startWorker(): Promise<FanfareProcess> {
    const worker = start(workerPlace, 'worker');
    await until('a worker is ready', () => worker.output().includes('is ready'), LIMIT_MS, 50);
    return worker;
  }

  const from = (sender: string) => taken.filter((one) => one.from === sender);

  test('hands nothing over in any process, also after kills, and then each recipient gets it once', async () => {
    const templateId = await createSmsTemplate(api);
    const theirTemplate = await createSmsTemplate(theirs);
    const list = await createList(api, OUR_CONTACTS);
    const theirList = await createList(theirs, THEIR_CONTACTS, 'q', 3_000_000);
    const id = await createSmsCampaign(api, list, templateId, { delivery: { ratePerSecond: OUR_RATE } });
    const theirId = await createSmsCampaign(theirs, theirList, theirTemplate, {
      delivery: { ratePerSecond: THEIR_RATE },
      settings: { sms: { shortCode: THEIRS, templateId: theirTemplate, version: 1 } },
    });
    const both = () => from(OURS).length > 2 * OUR_RATE && from(THEIRS).length > 0;
    await until('both are sending', both, LIMIT_MS, 20);

    await elsewhere.expect('POST', '/api/stop', { reason: 'Wrong price' });
    const answeredAt = Date.now();
    await delay(QUIET_MS);
    const stopped = from(OURS).length;
    expect(Math.max(...from(OURS).map(({ at }) => at))).toBeLessThan(answeredAt + 1_000);
    expect(stopped).toBeLessThan(OUR_CONTACTS / 2);
    // The other workspace goes on at its pace.
    const meanwhile = from(THEIRS).filter(({ at }) => at > answeredAt && at <= answeredAt + QUIET_MS).length;
    expect(meanwhile).toBeGreaterThan((0.6 * THEIR_RATE * QUIET_MS) / 1_000);

    const single = (uid: string) => ({
      ...{ channel: 'sms', uid, to: '+12025550123', from: OURS, 'template-id': templateId },
      ...{ params: { NAME: 'Ada' }, class: 'transactional' },
    });
    await api.expect('POST', '/send-msg', single('single'));
    await elsewhere.expect('POST', '/send-msg', single('single-elsewhere'));
    await elsewhere.expect('POST', '/api/send', single('durable'));
    for (const worker of workers) {
      await worker.killGroup();
      await startWorker();
    }
    await secondServe.killGroup();
    secondServe = start(secondPlace, 'serve');
    await untilReady(secondServe);
    await delay(QUIET_MS);
    expect(from(OURS)).toHaveLength(stopped);
    expect(await campaignDetail(api, id)).toMatchObject({
      phase: 'running',
      stopped: { reason: 'Wrong price' },
    });

    await elsewhere.expect('DELETE', '/api/stop');
    await untilPhase(api, id, ['completed'], LIMIT_MS);
    await untilPhase(theirs, theirId, ['completed'], LIMIT_MS);
    await until('the single ones are handed over', () => from(OURS).length >= OUR_CONTACTS + 3, LIMIT_MS);
    for (const [sender, messages] of [
      [OURS, OUR_CONTACTS + 3],
      [THEIRS, THEIR_CONTACTS],
    ] as const) {
      const uids = from(sender).map(({ uid }) => uid);
      expect([sender, uids.length, new Set(uids).size]).toEqual([sender, messages, messages]);
    }
  }, 300_000);
});
