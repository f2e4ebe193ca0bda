import { sql } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { LIMITS } from '../../src/domain/limits';
import type { Storage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

/** A refusal says what happened, to which id, and what to do. */
describeWithDatabase('a refusal says what to do', (database) => {
  let storage: Storage;
  let api: WholeApi;
  let headers: Record<string, string>;
  let workspaceId: string;
  let template: string;

  beforeAll(async () => {
    storage = await database.open();
    api = await startWholeApi(storage);
    const made = await newWorkspace(api.identity);
    workspaceId = made.workspace.id;
    headers = { authorization: await bearerFor(api.identity, made), 'x-api-key': made.apiKey };
    const body = { templateName: 'Welcome', channel: 'sms', body: 'Hello' };
    template = (await api.call('POST', '/api/template/', { headers, body })).body.template.id;
  });
  afterAll(() => api.stop());

  const refused = async (method: string, path: string, options: { body?: unknown; type?: string } = {}) => {
    const { status, body } = await api.call(method, path, { headers, ...options });
    return { status, message: body.message };
  };

  test('a version of a template for another channel', async () => {
    const body = { templateName: 'Welcome', channel: 'email', subject: 'Hi', body: '<p>Hello</p>' };
    expect(await refused('PUT', `/api/template/${template}`, { body })).toEqual({
      status: 422,
      message: `channel: Template ${template} is for sms, which does not change; create another template for email`,
    });
  });

  test('a durable send that has ended', async () => {
    await sql`insert into durable_sends (id, workspace_id, uid, channel, content, state, due_at, finished_at)
      values ('snd_1', ${workspaceId}, 's1', 'sms', '{}', 'delivered', now(), now())`.execute(
      storage.tables<CampaignTables>(),
    );
    expect(await refused('DELETE', '/api/send/snd_1')).toEqual({
      status: 409,
      message:
        'Durable send snd_1 has ended as delivered and can no longer be canceled; GET /api/send/snd_1 says what became of it',
    });
  });

  test('a body that is too large', async () => {
    const body = { name: 'x'.repeat(LIMITS.jsonBodyBytes) };
    expect(await refused('POST', '/api/contact-list', { body })).toEqual({
      status: 413,
      message: `The body is larger than the ${LIMITS.jsonBodyBytes} bytes that this path takes; send a smaller one, or several`,
    });
  });

  test.each([
    ['', 'No live template tpl_none in this workspace; GET /api/template lists those that there are'],
    [
      '?version=9',
      'No version 9 of a template tpl_none in this workspace; GET /api/template/tpl_none/versions lists its versions',
    ],
  ])('a template that is not there%s', async (query, message) => {
    expect(await refused('GET', `/api/template/tpl_none${query}`)).toEqual({ status: 404, message });
  });

  test('a template to preview that is not there', async () => {
    const body = { params: {}, version: 9 };
    const { message } = await refused('POST', `/api/template/${template}/preview`, { body });
    expect(message).toContain(`GET /api/template/${template}/versions lists its versions`);
  });

  test('a cursor of another list', async () => {
    const { status, message } = await refused('GET', '/api/contact/con_none/timeline?cursor=x');
    expect([status, message]).toEqual([422, expect.stringContaining('send `next` of an earlier page')]);
  });

  test('a content type that is not taken', async () => {
    expect(await refused('POST', '/api/template/', { body: '<a/>', type: 'application/xml' })).toEqual({
      status: 415,
      message:
        'The body has a content type that this path does not take; /openapi.json lists those that it takes',
    });
  });

  test('a country that is none', async () => {
    const { body } = await api.call('POST', '/api/contact-list', { headers, body: { name: 'L' } });
    const path = `/api/contact-list/${body.data.id}/contacts?country=XX`;
    expect(await refused('POST', path, { body: { contacts: [] } })).toEqual({
      status: 422,
      message: 'country: There is no country with this code; name it by two letters, such as US',
    });
  });

  test('a log-in at an OpenID provider that there is not', async () => {
    expect((await refused('GET', '/api/session/oidc')).message).toBe(
      'No OpenID provider is configured here; log in by POST /api/session',
    );
  });

  const lists = (what: string, path: string) =>
    `No ${what} in this workspace; GET ${path} lists those that there are`;
  const content = { templateName: 'Welcome', channel: 'sms', body: 'Hello' };
  test.each<[string, string, string, unknown]>([
    ['PUT', '/api/template/tpl_x', lists('live template tpl_x', '/api/template'), content],
    ['DELETE', '/api/template/tpl_x', lists('live template tpl_x', '/api/template'), undefined],
    ['GET', '/api/template/tpl_x/versions', lists('template tpl_x', '/api/template'), undefined],
    ['GET', '/api/campaign/cmp_x', lists('campaign cmp_x', '/api/campaign'), undefined],
    ['POST', '/api/campaign/cmp_x/pause', lists('campaign cmp_x', '/api/campaign'), undefined],
    ['GET', '/api/contact-list/lst_x', lists('contact list lst_x', '/api/contact-list'), undefined],
    [
      'POST',
      '/api/contact-list/lst_x/contacts',
      lists('contact list lst_x', '/api/contact-list'),
      { contacts: [] },
    ],
    ['GET', '/api/contact/con_x', lists('contact con_x', '/api/contact'), undefined],
    ['GET', '/api/webhook/whk_x', lists('webhook whk_x', '/api/webhook'), undefined],
    ['GET', '/messages/m1', lists('message m1', '/messages'), undefined],
    [
      'GET',
      '/api/send/snd_x',
      'No durable send snd_x in this workspace; its POST /api/send, repeated with the same uid, answers with its id',
      undefined,
    ],
  ])('%s %s, which is not there', async (method, path, message, body) => {
    expect(await refused(method, path, { body })).toEqual({ status: 404, message });
  });

  test('what a list or a campaign does not have', async () => {
    const listId = (await api.call('POST', '/api/contact-list', { headers, body: { name: 'Own' } })).body.data
      .id;
    const draft = { name: 'C', channel: ['sms'], contactListId: [listId], start: false };
    const settings = { sms: { shortCode: '12345', templateId: template, version: 1 } };
    const { body } = await api.call('POST', '/api/campaign', { headers, body: { ...draft, settings } });
    const campaign = body.data.id;
    const messages = await Promise.all(
      [
        ['DELETE', `/api/contact-list/${listId}/contacts/con_x`],
        ['GET', `/api/campaign/${campaign}/outcomes?runId=run_x`],
        ['GET', `/api/campaign/${campaign}/recipients/rcp_x`],
        ['GET', `/api/explain?campaign=${campaign}&contact=con_x`],
        ['DELETE', '/api/sender-limit?channel=sms&sender=12345'],
      ].map(async ([method = '', path = '']) => (await refused(method, path)).message),
    );
    expect(messages).toEqual([
      `No contact con_x in list ${listId}; GET /api/contact-list/${listId}/contacts lists its contacts`,
      `Campaign ${campaign} has no run run_x; GET /api/campaign/${campaign}/runs lists its runs`,
      `Campaign ${campaign} has no recipient rcp_x; GET /api/campaign/${campaign}/recipients lists its recipients`,
      `Campaign ${campaign} neither has this person as a recipient nor left them out; GET /api/campaign/${campaign}/recipients lists its recipients, and GET /api/campaign/${campaign}/skipped those left out`,
      'This sender has no limit of its own on the channel sms; GET /api/sender-limit lists those that there are',
    ]);
  });

  test('a campaign that names what is not there', async () => {
    const { body } = await api.call('POST', '/api/campaign', {
      headers,
      body: {
        ...{ name: 'C', channel: ['sms'], contactListId: ['lst_x'], exclude: { campaignIds: ['cmp_x'] } },
        settings: { sms: { shortCode: '12345', templateId: 'tpl_x', version: 1 } },
      },
    });
    expect(body.errors.map(({ message }: { message: string }) => message).sort()).toEqual([
      'There is no campaign cmp_x in this workspace; GET /api/campaign lists those that there are',
      'There is no contact list lst_x in this workspace; GET /api/contact-list lists those that there are',
      'There is no sms template tpl_x with version 1 in this workspace; GET /api/template lists those that there are',
    ]);
  });
});
