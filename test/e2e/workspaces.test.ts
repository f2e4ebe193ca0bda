import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { asUser } from '../support/as-user';
import type { Credentials } from '../support/fanfare-process';
import { Installation } from '../support/installation';

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

  it('run under an access of their own', async () => {
    const second = await asUser<Pick<Credentials, 'client' | 'apiKey'>>(
      here.fanfare.baseUrl,
      here.credentials.user,
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
    expect((await here.api.call('GET', `/api/campaign/${id}`)).status).toBe(404);
    expect((await here.api.call('GET', `/api/template/${template}`)).status).toBe(404);
  }, 120_000);
});
