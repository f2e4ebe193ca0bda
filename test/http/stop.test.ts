/** Proves how a workspace is stopped and started again over the API. */

import type { Storage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

describeWithDatabase('stopping a workspace over HTTP', (database) => {
  let storage: Storage;
  let api: WholeApi;
  beforeAll(async () => {
    storage = await database.open();
    api = await startWholeApi(storage);
  });
  afterAll(() => api.stop());

  async function caller() {
    const workspace = await newWorkspace(api.identity);
    const authorization = await bearerFor(api.identity, workspace);
    const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
      api.call(method, path, {
        headers: { authorization, 'x-api-key': workspace.apiKey, ...headers },
        ...(body === undefined ? {} : { body }),
      });
    return { ...workspace, call };
  }

  test('shows who stopped it, since when and why, in details and beside data in lists', async () => {
    const { call, client } = await caller();
    const other = await caller();
    expect(await call('GET', '/api/stop')).toMatchObject({ status: 200, body: { data: null } });
    const begun = await call('POST', '/api/stop', { reason: ' Wrong price ' });
    const stop = { since: expect.any(String), by: client.id, reason: 'Wrong price' };
    expect(begun).toMatchObject({ status: 200, body: { result: 'success', status: 200, data: stop } });
    expect(Date.now() - Date.parse(begun.body.data.since)).toBeLessThan(5_000);
    expect((await call('GET', '/api/stop')).body.data).toEqual(begun.body.data);
    for (const list of ['/api/campaign?page=1&limit=10&channel=sms', '/messages'])
      expect((await call('GET', list)).body).toMatchObject({ data: [], stopped: begun.body.data });
    const send = { channel: 'sms', uid: 'one', to: '+12025550123', from: '12345', 'template-id': 'tpl_1' };
    expect((await call('POST', '/api/send', send)).body.data.stopped).toEqual(begun.body.data);
    const made = { templateName: 'stopped', channel: 'sms', body: 'Hello' };
    const { template } = (await call('POST', '/api/template/', made)).body;
    await call('POST', '/send-msg', { ...send, uid: 'two', params: {}, 'template-id': template.id });
    expect((await call('GET', '/messages/two')).body.data).toMatchObject({
      state: 'accepted',
      stopped: begun.body.data,
    });
    expect(await call('DELETE', '/messages/two')).toMatchObject({
      status: 200,
      body: { data: { state: 'canceled', stopped: begun.body.data } },
    });
    expect((await other.call('GET', '/api/stop')).body.data).toBeNull();
    expect((await other.call('GET', '/messages')).body.stopped).toBeNull();

    for (let i = 0; i < 2; i++)
      expect(await call('DELETE', '/api/stop')).toMatchObject({ status: 200, body: { data: null } });
    expect((await call('GET', '/messages')).body.stopped).toBeNull();
  });

  test('names the user for whom a backend acts, and the first caller however often it is repeated', async () => {
    const { call } = await caller();
    const first = await call('POST', '/api/stop', { reason: 'First' }, { 'x-user-id': 'usr_ann' });
    const second = await call('POST', '/api/stop', { reason: 'Second' }, { 'x-user-id': 'usr_bob' });
    expect(first.body.data).toMatchObject({ by: 'usr_ann', reason: 'First' });
    expect(second.body.data).toEqual(first.body.data);
    await call('DELETE', '/api/stop');
  });

  test.each([
    ['no reason', {}, 'reason'],
    ['an empty reason', { reason: ' ' }, 'reason'],
    ['a reason that is too long', { reason: 'x'.repeat(501) }, 'reason'],
    ['a reason of two lines', { reason: 'one\ntwo' }, 'reason'],
    ['an unknown field', { reason: 'Wrong price', until: 'later' }, 'until'],
  ])('refuses %s', async (_, body, path) => {
    const { call } = await caller();
    const answer = await call('POST', '/api/stop', body);
    expect([answer.status, answer.body.errors.map((error: { path: string }) => error.path)]).toEqual([
      422,
      [path],
    ]);
    expect((await call('GET', '/api/stop')).body.data).toBeNull();
  });

  test('needs credentials', async () => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect((await api.call(method, '/api/stop', { body: { reason: 'x' } })).status).toBe(401);
    }
  });
});
