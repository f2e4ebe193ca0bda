import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { asUser } from '../support/as-user';
import {
  type Credentials,
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';

describe('campaigns of a second workspace', () => {
  let place: Place;
  let fanfare: FanfareProcess;
  let first: Credentials;
  const clients: ApiClient[] = [];

  beforeAll(async () => {
    place = await makePlace({ FANFARE_SIMULATOR_LATENCY_MS: '20' });
    fanfare = startFanfare(place);
    await untilReady(fanfare);
    first = readCredentials(place);
  }, 120_000);
  afterAll(async () => {
    for (const client of clients) await client.close();
    await fanfare?.stop();
    place.remove();
  });

  const clientOf = (of: Pick<Credentials, 'client' | 'apiKey'>): ApiClient => {
    const client = new ApiClient(fanfare.baseUrl, of);
    clients.push(client);
    return client;
  };

  it('run under an access of their own', async () => {
    const second = await asUser<Pick<Credentials, 'client' | 'apiKey'>>(
      fanfare.baseUrl,
      first.user,
      'POST',
      '/api/admin/workspaces',
      { name: 'Second', email: 'second@example.com' },
    );
    const api = clientOf(second);
    const list = await createList(api, 20, 'second');
    const template = await createSmsTemplate(api);
    const id = await createSmsCampaign(api, list, template);
    const detail = await untilPhase(api, id, ['completed', 'failed'], 60_000);
    expect(detail).toMatchObject({ phase: 'completed', reason: null });
    expect((await campaignDetail(api, id)).counts.sms?.total).toBe(20);
    expect((await clientOf(first).call('GET', `/api/campaign/${id}`)).status).toBe(404);
    expect((await clientOf(first).call('GET', `/api/template/${template}`)).status).toBe(404);
  }, 120_000);
});
