/** Proves the webhook endpoints over the API. */

import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

describeWithDatabase('the webhook endpoints', (database) => {
  let api: WholeApi;
  let headers: Record<string, string>;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    headers = { authorization: await bearerFor(api.identity, await newWorkspace(api.identity)) };
  });
  afterAll(() => api.stop());

  const call = (method: string, path: string, body?: unknown) =>
    api.call(method, `/api/webhook${path}`, { headers, body });
  const valid = { url: 'https://hooks.example.com/told', events: ['message.*'] };

  test('a secret is shown at creation and at rotation, and nowhere else', async () => {
    const created = await call('POST', '', valid);
    expect([created.status, created.headers['cache-control']]).toEqual([201, 'no-store']);
    const { id, secret } = created.body.data;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const rotated = await call('POST', `/${id}/rotate-secret`);
    expect(rotated.body.data.secret).not.toBe(secret);
    for (const path of ['', `/${id}`, `/${id}/deliveries`]) {
      expect(JSON.stringify((await call('GET', path)).body)).not.toContain('whsec_');
    }
  });

  test('the same Idempotency-Key makes the same secret', async () => {
    const post = () =>
      api.call('POST', '/api/webhook', { headers: { ...headers, 'idempotency-key': 'k-1' }, body: valid });
    const [first, second] = [await post(), await post()];
    expect(second.headers['idempotent-replay']).toBe('true');
    expect(second.body.data.secret).toBe(first.body.data.secret);
  });

  test('all problems are reported at once', async () => {
    const events = ['message.*', 'message.eaten', 'campaign', '*'];
    const { status, body } = await call('POST', '', { url: 'ftp://x', events, color: 'red' });
    expect(status).toBe(422);
    expect(body.errors.map(({ path, code }: { path: string; code: string }) => [path, code]).sort()).toEqual([
      ['color', 'unknown_field'],
      ['events.1', 'unknown_event'],
      ['events.2', 'unknown_event'],
      ['url', 'invalid_url'],
    ]);
  });

  test.each(['https://user:secret@hooks.example.com/', 'hooks.example.com', 'file:///x', 'javascript:0', ''])(
    '%j is no address of a webhook',
    async (url) => {
      expect(await call('POST', '', { ...valid, url })).toMatchObject({ status: 422 });
    },
  );

  test.each([
    'http://127.0.0.1:8080/',
    'http://[::1]/',
    'http://0x7f.1/',
    'http://localhost/',
    'http://10.0.0.1/',
  ])('%s is refused at creation and at a change', async (url) => {
    const refused = { status: 422, body: { code: 'private_target', errors: [{ path: 'url' }] } };
    expect(await call('POST', '', { ...valid, url })).toMatchObject(refused);
    const { id } = (await call('POST', '', valid)).body.data;
    expect(await call('PATCH', `/${id}`, { url })).toMatchObject(refused);
  });

  test('a change touches what it names', async () => {
    const { id } = (await call('POST', '', { ...valid, description: 'first' })).body.data;
    const change = { events: ['campaign.*', 'campaign.*'], enabled: false };
    const { data } = (await call('PATCH', `/${id}`, change)).body;
    expect(data).toMatchObject({
      url: valid.url,
      events: ['campaign.*'],
      description: 'first',
      enabled: false,
      disabledReason: 'user',
    });
    expect(await call('POST', `/${id}/test`)).toMatchObject({
      status: 409,
      body: { code: 'webhook_disabled' },
    });
    expect((await call('PATCH', `/${id}`, { enabled: true })).body.data).toMatchObject({
      enabled: true,
      disabledAt: null,
      disabledReason: null,
    });
  });

  test('a deleted endpoint is not found any more', async () => {
    const { id } = (await call('POST', '', valid)).body.data;
    await call('POST', `/${id}/test`);
    expect((await call('DELETE', `/${id}`)).status).toBe(200);
    for (const [method, path] of [
      ['GET', `/${id}`],
      ['GET', `/${id}/deliveries`],
      ['DELETE', `/${id}`],
      ['POST', `/${id}/test`],
    ] as const) {
      expect((await call(method, path)).status).toBe(404);
    }
    const listed = (await call('GET', '?limit=100')).body.data;
    expect(listed.map((webhook: { id: string }) => webhook.id)).not.toContain(id);
  });

  test('deliveries are listed by pages, newest first, and by state', async () => {
    const { id } = (await call('POST', '', valid)).body.data;
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.push((await call('POST', `/${id}/test`)).body.data.id);
    const first = (await call('GET', `/${id}/deliveries?limit=3`)).body;
    const second = (await call('GET', `/${id}/deliveries?limit=3&cursor=${first.next}`)).body;
    expect((await call('GET', `/${id}/deliveries?cursor=x`)).status).toBe(422);
    expect(second.next).toBeNull();
    const listed = [...first.data, ...second.data].map((delivery) => delivery.id);
    expect(listed).toEqual([...made].sort().reverse());
    expect((await call('GET', `/${id}/deliveries?state=failed`)).body.data).toEqual([]);
    expect((await call('GET', `/${id}/deliveries?state=eaten`)).status).toBe(422);
  });
});
