import { SCOPES } from '../../src/domain/access';
import type { Access } from '../../src/http/request/access';
import { type AuthKind, callerOf } from '../../src/http/request/caller';
import type { App } from '../../src/http/request/routing';
import type { NewWorkspace } from '../../src/messaging/access/workspaces';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace, startService, type TestService } from './service';

const KINDS = ['app', 'campaign', 'send', 'session'] satisfies AuthKind[];
const access: Access = { role: 'viewer', scopes: ['read'] };

/** A route of each kind that answers with who called. */
function whoCalls(app: App): void {
  for (const auth of KINDS) {
    app.route({
      method: ['GET', 'POST'],
      url: `/who/${auth}`,
      config: { auth, access },
      handler: async (request) => callerOf(request),
    });
  }
}

describeWithDatabase('callers', (database) => {
  let service: TestService;
  let other: NewWorkspace;
  let cookie: string;
  let bearer: { authorization: string };
  beforeAll(async () => {
    service = await startService((await database.open()).tables<MessagingTables>(), {
      publicUrl: 'https://fanfare.example.com',
      routes: [whoCalls],
    });
    other = await newWorkspace(service.identity);
    bearer = { authorization: service.bearer };
    const { email, password } = service.workspace.user;
    cookie = `session_token=${(await service.identity.login({ email, password, address: 'x' })).token}`;
  });
  afterAll(() => service.app.close());

  const get = (kind: AuthKind, headers: Record<string, string>) =>
    service.call('GET', `/who/${kind}`, { headers });
  const post = (kind: AuthKind, headers: Record<string, string>) =>
    service.call('POST', `/who/${kind}`, { headers });
  const bySession = () => ({
    workspaceId: service.workspace.workspace.id,
    userId: service.workspace.user.id,
    sessionId: expect.stringMatching(/^ses_/),
    mustEnrol: false,
    role: 'owner',
    via: 'cookie',
  });

  test('an app route takes a session cookie or a Bearer token', async () => {
    expect((await get('app', { cookie })).body).toEqual(bySession());
    const workspaceId = service.workspace.workspace.id;
    expect((await get('app', bearer)).body).toEqual({
      workspaceId,
      clientId: service.workspace.client.id,
      scopes: [...SCOPES],
      via: 'bearer',
    });
    const spelled = { authorization: service.bearer.replace('Bearer', 'bearer') };
    expect((await get('app', spelled)).status).toBe(200);
  });

  test('a Bearer token that is no good is not saved by a cookie', async () => {
    const answer = await get('app', { cookie, authorization: 'Bearer fft_unknown' });
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated']);
  });

  test.each(KINDS)('a %s route needs credentials', async (kind) => {
    for (const headers of [
      {},
      { cookie: 'session_token=' },
      { cookie: 'other=1' },
      { 'x-user-id': 'usr_1' },
    ]) {
      const answer = await get(kind, headers as Record<string, string>);
      expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated']);
      expect(answer.headers['www-authenticate']).toBe('Bearer realm="fanfare"');
    }
  });

  test('who may call is checked before the body is read', async () => {
    const answer = await service.call('POST', '/who/app', { body: 'not json', type: 'text/nonsense' });
    expect(answer.status).toBe(401);
  });

  test('a campaign route with a cookie needs the user’s id as well', async () => {
    const { id } = service.workspace.user;
    expect((await get('campaign', { cookie, 'x-user-id': id })).body).toEqual(bySession());
    const mismatch = await get('campaign', { cookie, 'x-user-id': other.user.id });
    expect([mismatch.status, mismatch.body.code]).toEqual([403, 'user_mismatch']);
    const missing = await get('campaign', { cookie });
    expect([missing.status, missing.body.errors[0].path]).toEqual([422, 'x-user-id']);
  });

  test('a route takes no cookie of another user than the one who is named', async () => {
    for (const kind of ['app', 'campaign', 'session'] as const) {
      const mismatch = await get(kind, { cookie, 'x-user-id': other.user.id });
      expect([kind, mismatch.status, mismatch.body.code]).toEqual([kind, 403, 'user_mismatch']);
    }
    expect((await get('app', { cookie, 'x-user-id': '' })).status).toBe(200);
  });

  test('a campaign route with a Bearer token records the acting user, if it is named', async () => {
    expect((await get('campaign', { ...bearer, 'x-user-id': 'usr_9' })).body.userId).toBe('usr_9');
    expect((await get('campaign', bearer)).body.userId).toBeUndefined();
    expect((await get('campaign', { ...bearer, 'x-user-id': 'x'.repeat(65) })).status).toBe(422);
  });

  test('a send route needs an API key and a token, both of one workspace', async () => {
    const key = { 'x-api-key': service.workspace.apiKey };
    expect((await get('send', { ...bearer, ...key })).body.workspaceId).toBe(service.workspace.workspace.id);
    expect((await get('send', bearer)).status).toBe(401);
    expect((await get('send', key)).status).toBe(401);
    expect((await get('send', { ...key, cookie })).status).toBe(401);
    expect((await get('send', { ...bearer, 'x-api-key': 'ffk_unknown' })).status).toBe(401);
    const mixed = await get('send', { ...key, authorization: await bearerFor(service.identity, other) });
    expect([mixed.status, mixed.body.code]).toEqual([403, 'forbidden']);
  });

  test('a session route does not take a Bearer token', async () => {
    const { status, body } = await get('session', bearer);
    expect(status).toBe(401);
    // The caller has a token, and is not told to bring one.
    expect(body.detail).toMatch(/^A session cookie/);
    expect(body.detail).not.toMatch(/token/i);
    expect((await get('session', { cookie })).status).toBe(200);
  });

  test.each([
    ['a page of another origin', { origin: 'https://evil.example.com' }],
    ['a page without an origin', { origin: 'null' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a sister domain', { 'sec-fetch-site': 'same-site' }],
  ])('a cookie that %s sent along changes nothing', async (_who, headers) => {
    const answer = await post('app', { cookie, ...headers });
    expect([answer.status, answer.body.code]).toEqual([403, 'cross_site']);
    expect((await get('app', { cookie, ...headers })).status).toBe(200);
    expect((await post('app', { ...bearer, ...headers })).status).toBe(200);
  });

  test('our own pages and callers without a browser may use a cookie', async () => {
    for (const headers of [
      {},
      { origin: service.url, 'sec-fetch-site': 'same-origin' },
      { origin: 'https://fanfare.example.com' },
      { 'sec-fetch-site': 'none' },
    ]) {
      expect((await post('app', { cookie, ...headers } as Record<string, string>)).status).toBe(200);
    }
  });
});
