import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const CONTACTS = 60;
const TAKEN = 4;
const TIMEOUT_MS = 180_000;

describe('what a carrier has when it is canceled', () => {
  let carrier: Server;
  let here: Installation;
  let waiting: ServerResponse[];
  let offered: Set<string>;

  beforeAll(async () => {
    carrier = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        offered.add((JSON.parse(Buffer.concat(chunks).toString()) as { uid: string }).uid);
        waiting.push(response);
      });
    });
    await new Promise<void>((done) => carrier.listen(0, '127.0.0.1', done));
    const { port } = carrier.address() as AddressInfo;
    here = await Installation.start({
      FANFARE_SMS_PROVIDER: 'http',
      FANFARE_SMS_HTTP_URL: `http://127.0.0.1:${port}/`,
    });
  }, 120_000);
  beforeEach(() => {
    waiting = [];
    offered = new Set();
  });
  afterAll(async () => {
    await here?.remove();
    carrier?.close();
    carrier?.closeAllConnections();
  });

  const answerAll = (status: number) => {
    for (const response of waiting.splice(0)) {
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    }
  };

  test(
    'is canceled when the carrier gives it back, and stays sent when it takes it',
    async () => {
      const listId = await createList(here.api, CONTACTS);
      const id = await createSmsCampaign(here.api, listId, await createSmsTemplate(here.api));
      await until('the carrier has them', () => waiting.length >= 10, 60_000);
      await here.api.expect('POST', `/api/campaign/${id}/cancel`);
      // The run has asked for them, and they are being handed over.
      await new Promise((done) => setTimeout(done, 3_000));
      expect((await campaignDetail(here.api, id)).phase).toBe('canceled');
      const taken = waiting.splice(0, TAKEN);
      const givenBack = waiting.length;
      answerAll(503);
      waiting = taken;
      answerAll(200);
      const ended = await until(
        'the run has ended',
        async () => {
          const detail = await campaignDetail(here.api, id);
          return detail.finishedAt !== null && detail.counts.sms?.accepted === 0 && detail;
        },
        60_000,
      );
      expect(givenBack).toBeGreaterThan(0);
      expect(ended.counts.sms).toMatchObject({
        total: CONTACTS,
        sent: TAKEN,
        canceled: CONTACTS - TAKEN,
        accepted: 0,
        sending: 0,
        unknown: 0,
      });
      await untilPhase(here.api, id, ['canceled'], 1_000);
      expect(waiting).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'of a single message is canceled too',
    async () => {
      const templateId = await createSmsTemplate(here.api);
      const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/send', {
        channel: 'sms',
        uid: 'only-one',
        to: '+12025550177',
        from: '12345',
        'template-id': templateId,
        params: { NAME: 'Ada' },
      });
      await until('the carrier has it', () => waiting.length === 1, 60_000);
      await here.api.expect('DELETE', `/api/send/${data.id}`);
      await new Promise((done) => setTimeout(done, 2_000));
      answerAll(503);
      const state = async () =>
        (await here.api.expect<{ data: { state: string } }>('GET', `/api/send/${data.id}`)).data.state;
      await until('it is canceled', async () => (await state()) === 'canceled', 60_000);
      expect(offered.size).toBe(1);
      expect(waiting).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
