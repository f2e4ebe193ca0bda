import { LIMITS } from '../../src/domain/limits';
import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { addWorkspace } from '../support/as-user';
import type { Credentials } from '../support/fanfare-process';
import { Installation } from '../support/installation';
import { until } from '../support/until';

/** Pages of recipients are larger than that, so that one page has taken all of them on. */
const PEOPLE = 60;

describe('campaigns of a second workspace', () => {
  let here: Installation;
  const clients: ApiClient[] = [];

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '20' });
  }, 120_000);
  afterAll(async () => {
    for (const client of clients) await client.close();
    await here?.remove();
  });

  const clientOf = (of: Pick<Credentials, 'client' | 'apiKey'>): ApiClient => {
    const client = new ApiClient(here.fanfare.baseUrl, of);
    clients.push(client);
    return client;
  };

  test('run under an access of their own', async () => {
    const second = await addWorkspace(here.fanfare.baseUrl, here.credentials.user, 'Second');
    const api = clientOf(second);
    const list = await createList(api, 20, 'second');
    const template = await createSmsTemplate(api);
    const id = await createSmsCampaign(api, list, template);
    const detail = await untilPhase(api, id, ['completed', 'failed'], 60_000);
    expect(detail).toMatchObject({ phase: 'completed', reason: null });
    expect((await campaignDetail(api, id)).counts.sms?.total).toBe(20);
    expect((await here.api.call('GET', `/api/campaign/${id}`)).status).toBe(404);
    expect((await here.api.call('GET', `/api/template/${template}`)).status).toBe(404);
  }, 120_000);

  test('are created as many at once as it may make requests, in the first workspace and in others', async () => {
    const second = await addWorkspace(here.fanfare.baseUrl, here.credentials.user, 'Busy');
    for (const credentials of [here.credentials, second]) {
      const api = new ApiClient(here.fanfare.baseUrl, credentials, LIMITS.requestsAtOnceDefault);
      clients.push(api);
      const [list, template] = [await createList(api, 1, 'busy', 8_000_000), await createSmsTemplate(api)];
      const answers = await Promise.all(
        Array.from({ length: LIMITS.requestsAtOnceDefault }, (_, i) =>
          createSmsCampaign(api, list, template, { name: `busy ${i}`, start: false }),
        ),
      );
      expect(new Set(answers).size).toBe(LIMITS.requestsAtOnceDefault);
    }
  }, 120_000);

  test('move none of the first one, whatever uids the second one sends under', async () => {
    const second = await addWorkspace(here.fanfare.baseUrl, here.credentials.user, 'Third');
    const intruder = clientOf(second);
    const list = await createList(here.api, PEOPLE, 'first', 5_000_000);
    const id = await createSmsCampaign(here.api, list, await createSmsTemplate(here.api), {
      delivery: { ratePerSecond: 1 },
    });
    await until('some are sent', async () => ((await smsOf(id)).delivered ?? 0) > 0);
    await here.api.expect('POST', `/api/campaign/${id}/pause`);
    await untilPhase(here.api, id, ['paused'], 30_000);
    const { data } = await here.api.expect<{ data: { uid: string; state: string }[] }>(
      'GET',
      `/api/campaign/${id}/recipients?limit=1000`,
    );
    const template = await createSmsTemplate(intruder);
    const messages = data.map(({ uid }, i) => ({
      channel: 'sms',
      uid,
      to: `+1202${6_000_000 + i}`,
      from: '12345',
      'template-id': template,
      params: { NAME: 'Eve' },
    }));
    await intruder.expect('POST', '/send-msg/bulk', { messages });
    // A campaign of its own makes the intruder's feed be followed, up to what comes after those messages.
    const own = await createSmsCampaign(intruder, await createList(intruder, 5, 'own'), template);
    await untilPhase(intruder, own, ['completed'], 60_000);
    const open = await smsOf(id);
    expect(open.pending).toBeGreaterThan(PEOPLE / 2);

    await here.api.expect('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond: 500 } });
    await here.api.expect('POST', `/api/campaign/${id}/resume`);
    await untilPhase(here.api, id, ['completed'], 60_000);
    const { data: messagesOfFirst } = await here.api.expect<{ data: unknown[] }>(
      'GET',
      `/messages?campaign=${id}&limit=100`,
    );
    expect(messagesOfFirst).toHaveLength(PEOPLE);
  }, 180_000);

  const smsOf = async (id: string) => (await campaignDetail(here.api, id)).counts.sms ?? {};
});
