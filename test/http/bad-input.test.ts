/**
 * Proves that no input whatever makes a route fail: bodies and parameters that are valid but for some of their parts, and hostile
 * ones. Long because every route with a body or a query stands here with a valid one.
 */

import fc from 'fast-check';
import pino from 'pino';
import { ERRORS } from '../../src/domain/errors';
import type { Storage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { bearerFor, type CallOptions, type HttpAnswer, newWorkspace } from './service';
import { INBOUND_SECRET, startWholeApi, UNSUBSCRIBE_TOKENS, type WholeApi } from './whole-api';

/**
 * Long because each route has its valid body here. Whatever arrives, the answer is the contract's: never a 5xx, always a problem+json that can be read,
 * nothing lost, and nothing in the log that does not belong there. Seeds of failed runs are printed.
 */

/** These stand in every valid body, and must not turn up in a log line. */
const ADDRESS = { email: 'canary.person@example.com', phone: '+12025550147' };

const LINK = UNSUBSCRIBE_TOKENS.seal({ workspaceId: 'ws_none', address: ADDRESS.email });

/** A valid body of every route that takes one; `:template` and the like stand for ids of the workspace. */
const BODIES: Record<string, unknown> = {
  'POST /api/v1/auth/token': { grant_type: 'client_credentials', valid_hour: 1 },
  'POST /api/v1/auth/revoke': { token: 'fft_unknown' },
  'POST /api/session': { email: ADDRESS.email, password: 'not the password' },
  'PUT /api/session/password': { current: 'not the password', new: 'quite another long one' },
  'POST /api/session/totp': { code: '000000' },
  [`POST /inbound/http/${INBOUND_SECRET}`]: [{ id: 'msg_1', type: 'delivered', at: '2026-01-01T00:00:00Z' }],
  [`POST /u/${LINK}`]: {
    'List-Unsubscribe': 'One-Click',
  },
  'POST /api/template': {
    channel: 'email',
    templateName: 'T',
    subject: 'For {{NAME}}',
    body: '<p>{{NAME}}</p>',
    template: { root: { type: 'EmailLayout', data: { childrenIds: ['a'] } }, a: { type: 'Text', data: {} } },
  },
  'PUT /api/template/:template': { channel: 'sms', templateName: 'T2', body: 'Hello {{NAME}}' },
  'POST /api/template/:template/preview': { params: { NAME: 'Ada' } },
  'POST /api/template/:template/test-send': { to: ADDRESS.phone, from: '12345', params: { NAME: 'Ada' } },
  'POST /send-msg': {
    channel: 'email',
    uid: 'u-1',
    to: ADDRESS.email,
    from: '"Shop" <shop@example.com>',
    subject: 'Hello',
    body: '<p>Hello {{NAME}}</p>',
    params: { NAME: 'Ada' },
    sendAt: '2026-11-22T00:00:00Z',
    expiresAt: '2026-12-22T00:00:00Z',
    campaign: 'tag',
    class: 'marketing',
    replyTo: ADDRESS.email,
  },
  'POST /send-msg/bulk': {
    messages: [
      { channel: 'sms', uid: 'b-1', to: ADDRESS.phone, from: 'SHOP', 'template-id': ':template', params: {} },
      {
        channel: 'voice',
        uid: 'b-2',
        to: ADDRESS.phone,
        from: ADDRESS.phone,
        voice: { ringTimeoutSeconds: 5 },
      },
    ],
  },
  'POST /api/suppression': { channel: 'sms', address: ADDRESS.phone, reason: 'asked', scope: 'workspace' },
  'PUT /api/sender-limit': { channel: 'sms', sender: '12345', rate: 5, burst: 5 },
  'POST /api/webhook': {
    url: 'https://hooks.example.com/x',
    events: ['message.*', 'campaign.completed'],
    description: 'D',
  },
  'PATCH /api/webhook/whk_none': { url: 'https://hooks.example.com/y', events: ['*'], enabled: true },
  'POST /api/stop': { reason: 'Wrong price' },
  'PUT /api/policy': {
    quietHours: { from: '21:00', to: '08:00', timezone: 'recipient', days: ['mon'], channels: ['sms'] },
    caps: [{ channels: ['sms'], classes: ['marketing'], max: 3, days: 7 }],
    allowedSenders: { email: ['@example.com'], sms: ['12345'], voice: ['+12025550100'] },
    smsOptOutText: { text: 'Reply STOP', onlyFirst: true },
    approval: { above: 100, channels: ['sms'] },
  },
  'POST /api/contact-list': { name: 'L' },
  'PATCH /api/contact-list/:list': { name: 'L2' },
  'POST /api/contact-list/:list/contacts': {
    contacts: [{ ...ADDRESS, name: 'C', timezone: 'Europe/Oslo', params: { CITY: 'Oslo' } }],
  },
  'PATCH /api/contact/:contact': { ...ADDRESS, name: 'C2', locale: null, params: { CITY: 'Rome' } },
  'POST /api/campaign': {
    campaignId: null,
    name: 'C',
    channel: ['sms'],
    settings: { sms: { shortCode: '12345', templateId: ':template', version: 1 } },
    contactListId: [':list'],
    start: false,
    params: { NAME: 'Ada' },
    delivery: { retry: { maxAttempts: 2 } },
    release: {
      stages: [{ recipients: 5, waitSeconds: 60 }, { percent: 10 }],
      gates: [{ metric: 'failed', above: 0.1, minSample: 10 }],
      onGate: 'cancel',
    },
  },
  'POST /api/campaign/dry-run': {
    name: 'C',
    channel: ['sms'],
    settings: { sms: { shortCode: '12345', templateId: ':template', version: 1 } },
    contactListId: [':list'],
    exclude: { campaignIds: ['cmp_none'], suppressionOnly: false },
    params: { NAME: 'Ada' },
  },
  'PATCH /api/campaign/cmp_none': { delivery: { ratePerSecond: 5, maxConcurrentCalls: 2 } },
  'POST /api/campaign/cmp_none/retry-failed': { states: ['failed'] },
  'POST /api/campaign/cmp_none/release': { stages: 2 },
  'POST /api/campaign/cmp_none/approve': { digest: 'd' },
  'POST /api/send': {
    channel: 'voice',
    uid: 'd-1',
    to: ADDRESS.phone,
    from: '+12025550100',
    'template-id': ':template',
    params: { NAME: 'Ada' },
    sendAt: '2026-11-22T00:00:00Z',
    retry: { maxAttempts: 3, initialDelaySeconds: 1, backoff: 2, maxDelaySeconds: 10 },
    voice: { retry: { busy: { maxAttempts: 2, delaysSeconds: [1] } }, maxAttempts: 3 },
  },
  'POST /api/admin/users': { email: 'new@example.com', role: 'member', password: 'a long password' },
  'PATCH /api/admin/users/usr_none': { role: 'admin' },
  'POST /api/admin/users/usr_none/password': { password: 'a long password' },
  'POST /api/admin/clients': { name: 'C' },
  'POST /api/admin/clients/cli_none/rotate': { overlapHours: 1 },
  'POST /api/admin/api-keys': { name: 'K' },
  'POST /api/admin/accounts': {
    name: 'A',
    kind: 'http',
    channels: ['sms'],
    settings: { url: 'https://carrier.example/send', idempotent: true },
    secrets: { headers: { authorization: 'Bearer x' } },
    workspaces: ['*'],
    ratePerSecond: 5,
  },
  'PATCH /api/admin/accounts/acc_none': { settings: { url: 'https://carrier.example/' }, disabled: true },
  'POST /api/admin/accounts/acc_none/reopen': { channel: 'sms', sender: '12345' },
  'POST /api/admin/senders': {
    workspace: 'ws_none',
    channel: 'email',
    sender: 'example.com',
    dkim: { selector: 'k1', privateKey: '-' },
  },
  'PUT /api/admin/routes': {
    routes: [
      { channel: 'sms', sender: 'SHOP', toPrefix: '+44', accounts: [{ account: 'acc_none', weight: 1 }] },
    ],
  },
  'POST /api/admin/workspaces': { name: 'W', email: 'owner@example.com' },
};

const QUERIES = [
  '/api/template?channel=sms&column=createdAt&direction=asc&search=a&page=1&pageSize=20',
  '/api/template/:template?version=1',
  `/inbound/kannel/${INBOUND_SECRET}?id=msg_1&dlr=1&answer=stat&time=1&from=1&to=1&text=a`,
  '/messages?channel=sms&state=sent&campaign=c&from=2026-01-01&to=2026-12-31&cursor=x&limit=5',
  '/messages/u-1',
  '/events?after=e1&limit=10&wait=0',
  '/api/suppression?page=1&limit=5&channel=sms&search=a',
  '/api/sender-limit?page=1&limit=5&channel=sms',
  '/api/webhook?page=1&limit=5',
  '/api/webhook/whk_none/deliveries?state=failed&cursor=x&limit=5',
  '/api/contact?search=a&cursor=x&limit=5',
  '/api/contact/:contact',
  '/api/contact/con_none/export',
  '/api/contact/con_none/timeline?cursor=x&limit=5',
  '/api/contact-list?page=1&limit=5&search=a',
  '/api/contact-list/:list/contacts?cursor=x&limit=5&search=a',
  '/api/campaign?page=1&limit=5&channel=sms&search=a&column=name&dateFrom=11/20/2026&dateTo=11/21/2026',
  '/api/campaign/cmp_none/runs?cursor=x&limit=5',
  '/api/campaign/cmp_none/recipients?channel=sms&state=sent&code=a&search=a&cursor=x&limit=5',
  '/api/campaign/cmp_none/outcomes?runId=x',
  '/api/campaign/cmp_none/recipients.csv?channel=sms&state=sent',
  '/api/campaign/cmp_none/calls?runId=run_none',
  '/api/campaign/cmp_none/calls.csv?runId=run_none',
  '/api/admin/users?page=1&limit=5&search=a',
  '/api/admin/workspaces?page=1&limit=5',
];

const PDF = '%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%%EOF';

const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

const hostileText = fc.constantFrom(
  '',
  ' ',
  '\r\nBcc: someone@example.com',
  '{{NAME',
  '{{{{NAME}}}}',
  '../../etc/passwd',
  "'; drop table messages; --",
  '<!DOCTYPE x [<!ENTITY a "b">]><Response>&a;</Response>',
  '<Response><Say>',
  '\u202e\ufeff\u0000',
  '\ud83d',
  '🎺'.repeat(300),
  'x'.repeat(70_000),
  '9'.repeat(400),
  '2026-02-30T25:61:00Z',
  'constructor',
  '__proto__',
);
const hostile = fc.oneof(
  hostileText,
  fc.constantFrom(null, true, false, 0, -1, 1.5, 1e308, -0, 2 ** 53, 1e21, [], {}, nested(100)),
  fc.jsonValue({ maxDepth: 4 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

/** A valid body in which one thing, anywhere, is something else, is gone, or stands beside something new. */
function broken(valid: unknown): fc.Arbitrary<unknown> {
  const places = placesIn(valid);
  return fc
    .tuple(fc.constantFrom(...places), fc.constantFrom('replace', 'remove', 'add'), hostileText, hostile)
    .map(([place, how, key, value]) => changed(valid, place, how, key, value));
}

function placesIn(value: unknown, at: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, child]) => placesIn(child, [...at, key]))];
}

function changed(
  root: unknown,
  place: (string | number)[],
  how: string,
  key: string,
  value: unknown,
): unknown {
  const [first, ...rest] = place;
  if (first === undefined) {
    const canHold = how === 'add' && typeof root === 'object' && root !== null && !Array.isArray(root);
    return canHold ? { ...root, [key]: value } : value;
  }
  const copy: Record<string, unknown> = Array.isArray(root) ? ([...root] as never) : { ...(root as object) };
  if (rest.length === 0 && how === 'remove') delete copy[first];
  else copy[first] = changed(copy[first], rest, how, key, value);
  return copy;
}

describeWithDatabase('bad input', (database) => {
  let storage: Storage;
  let api: WholeApi;
  let ids: Record<string, string>;
  let headers: Record<string, string>;
  let admin: Record<string, string>;
  const written: string[] = [];

  beforeAll(async () => {
    storage = await database.open();
    const log = pino({ level: 'trace' }, { write: (line: string) => void written.push(line) });
    api = await startWholeApi(storage, { log });
    const made = await newWorkspace(api.identity);
    const { token } = await api.identity.login({ ...made.user, address: 'tests' });
    admin = { cookie: `session_token=${token}`, 'x-user-id': made.user.id };
    headers = { authorization: await bearerFor(api.identity, made), 'x-api-key': made.apiKey };
    ids = {};
    const template = { templateName: 'first', body: 'Hello {{NAME}}', channel: 'sms' };
    ids.template = (await call('POST', '/api/template', { body: template })).body.template.id;
    ids.list = (await call('POST', '/api/contact-list', { body: { name: 'first' } })).body.data.id;
    const contacts = [{ email: 'first@example.com' }];
    await call('POST', '/api/contact-list/:list/contacts', { body: { contacts } });
    ids.contact = (await call('GET', '/api/contact-list/:list/contacts')).body.data[0].id;
  });
  afterAll(() => api.stop());

  function call(method: string, path: string, options: CallOptions = {}): Promise<HttpAnswer> {
    const byUser = path.startsWith('/api/admin') || path.endsWith('/approve');
    const own = byUser ? admin : path.startsWith('/api/v1/auth') ? {} : headers;
    return api.call(method, filled(path), { ...options, headers: { ...own, ...options.headers } });
  }

  const filled = (text: string) =>
    text.replace(/:(template|list|contact)\b/g, (_, name: string) => ids[name] ?? '');

  /** Anything but a crash or a riddle. */
  function expectContract(what: string, { status, headers: given, body }: HttpAnswer): void {
    expect([what, status]).toEqual([what, expect.any(Number)]);
    if (status < 400) return;
    if (status >= 500) throw new Error(`${what} answered ${status}: ${JSON.stringify(body)}`);
    expect(given['content-type']).toMatch(/^application\/problem\+json/);
    expect(Object.keys(ERRORS)).toContain(body.code);
    expect(body).toMatchObject({ status, result: 'error', success: false, detail: expect.any(String) });
    expect(body.detail).not.toBe('');
    for (const finding of body.errors) {
      expect(finding).toEqual({
        path: expect.any(String),
        code: expect.any(String),
        message: expect.any(String),
      });
    }
    if (status === 422 && body.code === 'invalid_request') expect(body.errors).not.toEqual([]);
  }

  test.each([
    ['POST /api/campaign', 'channel', 60_000],
    ['POST /send-msg', 'params', 60_000],
    ['PUT /api/policy', 'caps', 60_000],
  ])('what %s has in %s, %i entries, is refused at once', async (route, path, count) => {
    const [method, url] = route.split(' ') as [string, string];
    const names = Array.from({ length: count }, (_, i) => `N${i}`);
    const wide = path === 'params' ? Object.fromEntries(names.map((name) => [name, null])) : names;
    const answer = await call(method, url, { body: { ...(BODIES[route] as object), [path]: wide } });
    expect([answer.status, answer.body.errors]).toMatchObject([422, [{ path, code: 'too_many' }]]);
  });

  test('values of a bulk, beyond what a message may have, are not judged one by one', async () => {
    const params = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`N${i}`, null]));
    const messages = [
      { channel: 'fax', params },
      { channel: 'fax', params: { N0: null } },
    ];
    const { status, body } = await call('POST', '/send-msg/bulk', { body: { messages } });
    const [many, one] = body.data.results.map(({ errors }: { errors: { path: string; code: string }[] }) =>
      errors
        .filter(({ path }) => /^(?:channel|params)/.test(path))
        .map(({ path, code }) => `${path} ${code}`),
    );
    expect([status, many.sort(), one.length]).toEqual([207, ['channel invalid_value', 'params too_many'], 2]);
  });

  test('every route that takes a body is tried here', () => {
    const open = api.routes
      .filter(({ schema, method }) => schema?.body !== undefined && method !== 'HEAD')
      .map(({ method, url }) => `${method} ${url.replace(/(?<=.)\/$/, '')}`);
    const tried = Object.keys(BODIES).map((key) =>
      key
        .replace(INBOUND_SECRET, ':secret')
        .replace(LINK, ':token')
        .replace(/:template|:list|:contact|(usr|cli|cmp|whk|acc)_none/, ':id'),
    );
    expect(open.filter((route) => !tried.includes(route))).toEqual([]);
  });

  test.each(Object.entries(BODIES))(
    '%s answers by contract whatever its body holds',
    async (route, valid) => {
      const [method = '', path = ''] = route.split(' ');
      const run = async (body: unknown) => {
        const text = filled(JSON.stringify(body) ?? 'null');
        expectContract(`${route} with ${text.slice(0, 300)}`, await call(method, path, { body: text }));
      };
      await fc.assert(fc.asyncProperty(broken(valid), run), { numRuns: RUNS });
      await fc.assert(fc.asyncProperty(hostile, run), { numRuns: RUNS / 4 });
    },
  );

  const RAW: { what: string; body: string | Uint8Array; type?: string }[] = [
    { what: 'JSON cut short', body: '{"channel":"sms","uid":' },
    { what: 'an unfinished escape', body: '{"uid":"\\u12"}' },
    { what: 'a lone continuation byte', body: Uint8Array.from([0x22, 0x80, 0x22]) },
    { what: 'an overlong encoding', body: Uint8Array.from([0x22, 0xc0, 0xaf, 0x22]) },
    { what: 'NUL bytes', body: new Uint8Array(64) },
    { what: 'a PDF', body: PDF },
    { what: 'a hundred levels', body: `${'{"a":'.repeat(100)}1${'}'.repeat(100)}` },
    { what: 'an infinite number', body: '{"valid_hour":1e999,"name":12345678901234567890123456789}' },
    { what: 'more than any route takes', body: `"${'x'.repeat(8 * 1024 * 1024 + 1)}"` },
    { what: 'a form', body: 'a=b', type: 'multipart/form-data' },
    { what: 'gzip', body: Uint8Array.from([0x1f, 0x8b, 8, 0, 0, 0]), type: 'application/gzip' },
  ];

  test.each(RAW)('no route takes $what', async ({ body, type }) => {
    for (const route of Object.keys(BODIES)) {
      const [method = '', path = ''] = route.split(' ');
      const answer = await call(method, path, { body, ...(type ? { type } : {}) });
      expectContract(route, answer);
      expect([route, isRefusal(answer.status)]).toEqual([route, true]);
    }
  });

  test.each(['/api/contact-list/:list/contacts', '/api/suppression'])(
    'a CSV for %s that is something else is refused or has its errors by line',
    async (path) => {
      const csvs: (string | Uint8Array)[] = [
        '',
        PDF,
        Uint8Array.from({ length: 5_000 }, (_, i) => (i * 7919) % 256),
        'email\n"never closed',
        `email,phone\n${'x'.repeat(70_000)},1\n`,
        'a,a\n1,2',
        '\u0000\u0000\n\u0000',
      ];
      for (const body of csvs) {
        expectContract(path, await call('POST', path, { body, type: 'text/csv' }));
      }
      const given = fc.uint8Array({ maxLength: 400 });
      await fc.assert(
        fc.asyncProperty(given, async (bytes) =>
          expectContract(path, await call('POST', path, { body: bytes, type: 'text/csv' })),
        ),
        { numRuns: RUNS },
      );
    },
  );

  test.each(QUERIES)('GET %s answers by contract whatever its parameters are', async (example) => {
    const [path = '', query = ''] = example.split('?');
    const names = [...new URLSearchParams(query).keys()];
    const parts = path.split('/').length;
    const run = async (given: { name: string; value: string; part: number; replace: boolean }) => {
      const asked = new URLSearchParams(query);
      if (given.name !== '') asked.set(given.name, given.value);
      const segments = path.split('/');
      if (given.replace) segments[given.part] = encodeURIComponent(given.value.toWellFormed());
      const url = `${segments.join('/')}?${asked}`;
      expectContract(url, await call('GET', url.startsWith('//') ? '/' : url));
    };
    const given = fc.record({
      name: fc.constantFrom('', 'unknown', ...names),
      value: fc.oneof(
        hostileText.filter((text) => text.length < 5_000),
        fc.string({ unit: 'binary' }),
      ),
      part: fc.integer({ min: 1, max: parts - 1 }),
      replace: fc.boolean(),
    });
    await fc.assert(fc.asyncProperty(given, run), { numRuns: RUNS });
  });

  test('after all that the service sends, and its log holds no address and no secret', async () => {
    const message = {
      channel: 'sms',
      uid: 'after-all',
      to: ADDRESS.phone,
      from: '12345',
      'template-id': ids.template,
      params: { NAME: 'Ada' },
    };
    await call('DELETE', `/api/suppression?channel=sms&address=${encodeURIComponent(ADDRESS.phone)}`);
    await call('DELETE', '/api/sender-limit?channel=sms&sender=12345');
    await call('DELETE', '/api/stop');
    expect((await call('POST', '/send-msg', { body: message })).status).toBe(202);
    await until('it is sent', async () => {
      const { body } = await call('GET', '/messages/after-all');
      return body.data.state === 'sent';
    });
    const secrets = [...Object.values(ADDRESS), ...Object.values(headers), ...Object.values(admin)];
    expect(
      secrets.filter((secret) => written.join('').includes(secret.replace(/^Bearer |^session_token=/, ''))),
    ).toEqual([]);
  });
});

/** A run is a request over a socket; more of them find more, `FANFARE_TEST_RUNS=1000` for an evening. */
const RUNS = Number(process.env.FANFARE_TEST_RUNS ?? 20);
const isRefusal = (status: number) => status >= 400 && status < 500;
