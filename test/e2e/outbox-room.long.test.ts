import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createList, createSmsCampaign, createSmsTemplate, untilPhase } from '../support/api-client';
import { asUser } from '../support/as-user';
import { Installation } from '../support/installation';
import { until } from '../support/until';

/** More than a campaign may have in the outbox. */
const CONTACTS = 20_000;
const ANSWER_MS = 2_000;
const TIMEOUT_MS = 120_000;

const urlOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

describe('a campaign beside one whose share of the outbox is full', () => {
  let carrier: Server;
  /** Of another account. It takes everything at once. */
  let open: Server;
  let here: Installation;
  const taken = new Set<string>();
  let isRefusing = false;

  beforeAll(async () => {
    carrier = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        if (isRefusing) return void response.writeHead(401).end();
        taken.add((JSON.parse(Buffer.concat(chunks).toString()) as { uid: string }).uid);
        setTimeout(() => response.end('{}'), ANSWER_MS);
      });
    });
    open = createServer((request, response) => {
      request.resume().on('end', () => response.end('{}'));
    });
    for (const server of [carrier, open])
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    here = await Installation.start({
      FANFARE_SMS_PROVIDER: 'http',
      FANFARE_SMS_HTTP_URL: urlOf(carrier),
    });
  }, 120_000);
  afterAll(async () => {
    await here?.remove();
    for (const server of [carrier, open]) {
      server?.close();
      server?.closeAllConnections();
    }
  });

  const owner = <Body>(method: string, path: string, body: object) =>
    asUser<Body>(here.fanfare.baseUrl, here.credentials.user, method, path, body);

  const undelivered = async () => {
    const { data } = await here.api.expect<{ data: { marketing: { undelivered: number } } }>(
      'GET',
      '/outbox',
    );
    return data.marketing.undelivered;
  };

  test(
    'and that is paused is sent at once, and so is what the paused one left once it is resumed',
    async () => {
      const template = await createSmsTemplate(here.api);
      const large = await createSmsCampaign(here.api, await createList(here.api, CONTACTS), template);
      const list = await createList(here.api, 100, 'small', 9_000_000);
      await until('its share is full', async () => (await undelivered()) > 14_000, 60_000);
      await here.api.expect('POST', `/api/campaign/${large}/pause`);
      await until('what it left stands aside', async () => (await undelivered()) < 1_000, 15_000);

      const before = taken.size;
      const small = await createSmsCampaign(here.api, list, template);
      await untilPhase(here.api, small, ['completed'], 15_000);
      // Those that were on their way when the pause was answered are in both figures.
      expect(taken.size).toBeGreaterThanOrEqual(before + 100);

      await here.api.expect('POST', `/api/campaign/${large}/resume`);
      await until('it counts again', async () => (await undelivered()) > 10_000, 15_000);
      const resumed = taken.size;
      await until('it goes on', () => taken.size > resumed + 500, 30_000);
      await here.api.expect('POST', `/api/campaign/${large}/cancel`);
    },
    TIMEOUT_MS,
  );

  test(
    'and whose carrier refuses the account is sent at once on another channel',
    async () => {
      await until('the canceled one has left', async () => (await undelivered()) < 1_000, 30_000);
      isRefusing = true;
      const sms = await createSmsTemplate(here.api);
      await createSmsCampaign(here.api, await createList(here.api, CONTACTS, 'refused', 4_000_000), sms);
      const list = await createList(here.api, 100, 'mail', 8_000_000);
      await until('its share is full', async () => (await undelivered()) > 14_000, 60_000);

      const { template } = await here.api.expect<{ template: { id: string } }>('POST', '/api/template/', {
        ...{ templateName: 'beside', channel: 'email', subject: 'News', body: '<p>{{NAME}}</p>' },
        emailProviderId: '',
      });
      const mail = await here.api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
        ...{ campaignId: null, name: 'beside', channel: ['email'], contactListId: [list] },
        settings: { email: { fromEmail: 'news@example.com', templateId: template.id, version: 1 } },
      });
      await untilPhase(here.api, mail.data.id, ['completed'], 15_000);
    },
    TIMEOUT_MS,
  );

  test(
    'and whose carrier refuses the account is sent by another account of the same channel',
    async () => {
      expect(await undelivered()).toBeGreaterThan(14_000);
      const account = await owner<{ data: { id: string } }>('POST', '/api/admin/accounts', {
        ...{ name: 'open', kind: 'http', channels: ['sms'], workspaces: ['*'] },
        settings: { url: urlOf(open) },
      });
      await owner('PUT', '/api/admin/routes', {
        routes: [{ channel: 'sms', sender: '67890', accounts: [{ account: account.data.id }] }],
      });
      const list = await createList(here.api, 2_000, 'beside', 7_000_000);
      const template = await createSmsTemplate(here.api);
      const beside = await createSmsCampaign(here.api, list, template, {
        settings: { sms: { shortCode: '67890', templateId: template, version: 1 } },
      });
      await untilPhase(here.api, beside, ['completed'], 20_000);
    },
    TIMEOUT_MS,
  );
});
