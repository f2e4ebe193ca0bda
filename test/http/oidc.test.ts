import type { Kysely } from 'kysely';
import { request } from 'undici';
import { oidcRoutes } from '../../src/http/oidc';
import { createLog } from '../../src/log';
import { createSealing } from '../../src/messaging/access/sealing';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createOidcProvider } from '../../src/oidc/oidc-provider';
import { type OidcIssuer, startOidcIssuer } from '../support/oidc-issuer';
import { describeWithDatabase } from '../support/storage';
import { startService, type TestService } from './service';

describeWithDatabase('log-ins by OpenID Connect', (database) => {
  let service: TestService;
  let issuer: OidcIssuer;
  const acrValues: string[] = [];
  beforeEach(async () => {
    const db: Kysely<MessagingTables> = (await database.open()).tables<MessagingTables>();
    issuer = await startOidcIssuer();
    service = await startService(db, {
      requireTotp: 'admin',
      routes: [
        (app) =>
          oidcRoutes({
            provider: createOidcProvider({ ...issuer, issuer: issuer.url, acrValues }),
            // The real ones need what is made below.
            sessions: {
              loginByProvider: (...given) => service.identity.loginByProvider(...given),
              logout: (token) => service.identity.logout(token),
            },
            sealing: createSealing([Buffer.alloc(32, 5)]),
            publicUrl: () => service.url,
            log: createLog('silent'),
          })(app),
      ],
    });
    issuer.person = { email: service.workspace.user.email.toUpperCase(), email_verified: true };
  });
  afterEach(async () => {
    await service.app.close();
    await issuer.close();
    acrValues.length = 0;
  });

  const cookiesOf = (headers: Record<string, unknown>) =>
    [headers['set-cookie'] ?? []].flat().map((cookie) => String(cookie).split(';')[0] as string);

  /** As a browser that goes where it is led, up to the console. */
  async function begin(query = ''): Promise<{ callback: string; cookie: string }> {
    const first = await service.call('GET', `/api/session/oidc${query}`);
    expect(first.status).toBe(303);
    const atProvider = await request(String(first.headers.location));
    await atProvider.body.dump();
    return {
      callback: String(atProvider.headers.location).replace(service.url, ''),
      cookie: cookiesOf(first.headers)[0] as string,
    };
  }
  const finish = ({ callback, cookie }: { callback: string; cookie: string }) =>
    service.call('GET', callback, { headers: { cookie } });
  const outcome = async () => (await finish(await begin())).headers.location;

  test.each(['RS256', 'ES256'] as const)('a user is found by verified email, signed with %s', async (alg) => {
    issuer.algorithm = alg;
    const { status, headers } = await finish(await begin());
    expect([status, headers.location]).toEqual([303, '/console/']);
    const cookies = cookiesOf(headers);
    const cookie = cookies.find((each) => each.startsWith('session_token='));
    const me = await service.call('GET', '/api/session', { headers: { cookie: String(cookie) } });
    expect(me.body.user.id).toBe(service.workspace.user.id);
    // Codes are demanded of those who log in with a password.
    const users = await service.call('GET', '/api/admin/users', { headers: { cookie: String(cookie) } });
    expect(users.status).toBe(200);
  });

  test('an email address that is not said to be verified, or that no user has, is refused', async () => {
    const { email } = service.workspace.user;
    for (const verified of [undefined, false, 'true']) {
      issuer.person = { email, email_verified: verified };
      expect(await outcome()).toBe('/console/?error=oidc_email_unverified');
    }
    issuer.person = { email: 'stranger@example.com', email_verified: true };
    expect(await outcome()).toBe('/console/?error=oidc_unknown_user');
    const made = { email: 'disabled@example.com', role: 'admin' } as const;
    const admin = { workspaceId: service.workspace.workspace.id, role: 'owner' } as const;
    const { user } = await service.identity.users.create(admin, made);
    await service.identity.users.disable(admin, user.id);
    issuer.person = { email: made.email, email_verified: true };
    expect(await outcome()).toBe('/console/?error=oidc_unknown_user');
  });

  test('a token that is not for this log-in, not from this provider or not signed with its keys is refused', async () => {
    const spoils: OidcIssuer['spoil'][] = [
      { claims: { nonce: 'another' } },
      { claims: { aud: 'another' } },
      { claims: { iss: 'https://elsewhere.example.com' } },
      { claims: { exp: Math.floor(Date.now() / 1_000) - 600 } },
      { foreignKey: true },
    ];
    for (const spoil of spoils) {
      issuer.spoil = spoil;
      expect([spoil, await outcome()]).toEqual([spoil, '/console/?error=oidc_failed']);
    }
    issuer.spoil = {};
    issuer.algorithm = 'HS256';
    expect(await outcome()).toBe('/console/?error=oidc_failed');
  });

  test('a token that is signed with a key of just now is taken', async () => {
    expect(await outcome()).toBe('/console/');
    for (const _ of [1, 2]) {
      await issuer.rotate();
      expect(await outcome()).toBe('/console/');
    }
  });

  test('made-up key ids have the keys of the provider read a few times, and keep no person out', async () => {
    expect(await outcome()).toBe('/console/');
    const started = Date.now();
    for (const later of [0, 70_000]) {
      const clock = jest.spyOn(Date, 'now').mockReturnValue(started + later);
      issuer.keysRead = 0;
      for (let i = 0; i < 12; i++) {
        issuer.spoil = { keyId: `made-up-${i}` };
        expect(await outcome()).toBe('/console/?error=oidc_failed');
      }
      expect(issuer.keysRead).toBeLessThanOrEqual(6);
      clock.mockRestore();
    }
    issuer.spoil = {};
    expect(await outcome()).toBe('/console/');
  });

  test('where classes of log-in are demanded, one that is said to be of another or of none is refused', async () => {
    acrValues.push('urn:example:two-factors', 'phr');
    const first = await service.call('GET', '/api/session/oidc');
    const asked = new URL(String(first.headers.location)).searchParams;
    expect(asked.get('acr_values')).toBe('urn:example:two-factors phr');
    for (const claims of [{}, { acr: '0' }, { acr: 'urn:example:two-factors phr' }, { acr: ['phr'] }]) {
      issuer.spoil = { claims };
      expect([claims, await outcome()]).toEqual([claims, '/console/?error=oidc_failed']);
    }
    issuer.spoil = { claims: { acr: 'phr' } };
    expect(await outcome()).toBe('/console/');
  });

  test('the answer has to belong to a log-in of this browser, and counts once', async () => {
    const [mine, another] = [await begin(), await begin()];
    const failed = '/console/?error=oidc_failed';
    expect((await finish({ ...mine, cookie: another.cookie })).headers.location).toBe(failed);
    expect((await finish({ ...mine, cookie: '' })).headers.location).toBe(failed);
    expect((await finish({ ...mine, cookie: `${mine.cookie}x` })).headers.location).toBe(failed);
    expect((await finish(mine)).headers.location).toBe('/console/');
    expect((await finish(mine)).headers.location).toBe(failed);
  });

  test('an answer of another page leaves the log-in that began later in force', async () => {
    const [earlier, later] = [await begin(), await begin()];
    const answer = await finish({ ...earlier, cookie: later.cookie });
    expect(answer.headers.location).toBe('/console/?error=oidc_failed');
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect((await finish(later)).headers.location).toBe('/console/');
  });

  test('a provider that is away, or broken, when the person comes back is not taken for a refusal', async () => {
    const coming = await begin();
    for (const broken of [503, 'html'] as const) {
      issuer.spoil = { broken };
      expect((await finish(coming)).headers.location).toBe('/console/?error=oidc_unavailable');
    }
    await issuer.close();
    expect((await finish(coming)).headers.location).toBe('/console/?error=oidc_unavailable');
  });

  test('a log-in leads back to a path of the console, and to no other host', async () => {
    for (const [back, to] of [
      ['/campaigns?search=%22a%20b%22', '/console/campaigns?search=%22a%20b%22'],
      ['//elsewhere.example', '/console/'],
      ['/\\elsewhere.example', '/console/'],
      ['https://elsewhere.example', '/console/'],
      ['/a\r\nset-cookie: x=y', '/console/'],
      [`/${'a'.repeat(1_000)}`, '/console/'],
    ] as const) {
      const { headers } = await finish(await begin(`?back=${encodeURIComponent(back)}`));
      expect([back, headers.location]).toEqual([back, to]);
    }
  });

  test('a provider that refuses or is away leads to the console as well', async () => {
    issuer.spoil = { refuse: true };
    expect(await outcome()).toBe('/console/?error=oidc_denied');
    await issuer.close();
    const away = createOidcProvider({ ...issuer, issuer: issuer.url, acrValues });
    await expect(away.begin('http://127.0.0.1/x')).rejects.toThrow();
  });
});
