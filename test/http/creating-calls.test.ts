import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

const sms = (templateId: string) => ({
  channel: 'sms',
  uid: randomUUID(),
  to: '+12025550199',
  from: '12345',
  'template-id': templateId,
});

const action = (name: string, tables: string[]): (typeof CREATING)[string] => ({
  path: (of) => `/api/campaign/${of.campaign}/${name}`,
  body: () => ({}),
  tables,
});

/**
 * Calls that create something, each with a body that is new every time, and the tables that it adds a row
 * to. Routes with `config.idempotent` that are not here have their tests with administration.
 */
const CREATING: Record<
  string,
  {
    body: (of: Own) => unknown;
    tables: string[];
    path?: (of: Own) => string;
    method?: 'PUT';
    /** Who may do it, if that is no client. */
    as?: 'user';
  }
> = {
  '/api/template': {
    body: () => ({ templateName: randomUUID(), body: 'Hello', channel: 'sms' }),
    tables: ['templates', 'template_versions'],
  },
  '/api/template/:id': {
    method: 'PUT',
    path: (of) => `/api/template/${of.template}`,
    body: () => ({ templateName: randomUUID(), body: 'Hello again', channel: 'sms' }),
    tables: ['template_versions'],
  },
  '/api/template/:id/test-send': {
    path: (of) => `/api/template/${of.template}/test-send`,
    body: () => ({ to: '+12025550100', from: '12345', params: {} }),
    tables: ['messages'],
  },
  '/api/contact-list': { body: () => ({ name: 'The same name again' }), tables: ['contact_lists'] },
  // Before anything is added to its audience.
  '/api/campaign/:id/approve': {
    path: (of) => `/api/campaign/${of.unapproved}/approve`,
    body: (of) => ({ digest: of.digest }),
    tables: ['runs'],
    as: 'user',
  },
  '/api/contact-list/:id/contacts': {
    path: (of) => `/api/contact-list/${of.list}/contacts`,
    body: () => ({ contacts: [{ externalId: randomUUID(), email: 'somebody@example.com' }] }),
    tables: ['contacts', 'contact_list_members'],
  },
  '/api/campaign': {
    body: (of) => ({
      name: 'The same name again',
      channel: ['sms'],
      settings: { sms: { shortCode: '12345', templateId: of.template, version: 1 } },
      contactListId: [of.list],
    }),
    tables: ['campaigns', 'runs'],
  },
  '/api/campaign/:id/duplicate': {
    path: (of) => `/api/campaign/${of.campaign}/duplicate`,
    body: () => ({}),
    tables: ['campaigns'],
  },
  '/api/campaign/:id/recipients': {
    path: (of) => `/api/campaign/${of.campaign}/recipients`,
    body: () => ({ recipients: [{ phone: '+12025550177' }] }),
    tables: ['contacts', 'contact_list_members'],
  },
  // What else they must not do again, repeated-actions.test.ts tells.
  '/api/campaign/:id/start': action('start', ['runs']),
  '/api/campaign/:id/pause': action('pause', []),
  // One that is paused may be told so, one that is being planned not.
  '/api/campaign/:id/retry-failed': action('retry-failed', []),
  '/api/campaign/:id/resume': action('resume', []),
  '/api/campaign/:id/release': action('release', ['run_releases']),
  '/api/campaign/:id/cancel': action('cancel', []),
  '/send-msg': { body: (of) => sms(of.template), tables: ['messages'] },
  '/send-msg/bulk': { body: (of) => ({ messages: [sms(of.template)] }), tables: ['messages'] },
  '/api/send': { body: (of) => sms(of.template), tables: ['durable_sends'] },
  '/api/webhook': {
    body: () => ({ url: 'https://hooks.example.com/told', events: ['*'] }),
    tables: ['webhooks'],
  },
  '/api/webhook/:id/test': {
    path: (of) => `/api/webhook/${of.webhook}/test`,
    body: () => ({}),
    tables: ['webhook_deliveries'],
  },
  // A secret is no row of its own; that it is the same again, the tests of webhooks tell.
  '/api/webhook/:id/rotate-secret': {
    path: (of) => `/api/webhook/${of.webhook}/rotate-secret`,
    body: () => ({}),
    tables: [],
  },
  '/api/suppression': {
    body: () => ({ channel: 'email', address: `${randomUUID()}@example.com`, reason: 'asked' }),
    tables: ['suppressions'],
  },
};

interface Own {
  template: string;
  list: string;
  campaign: string;
  unapproved: string;
  digest: string;
  webhook: string;
}

describeWithDatabase('creating calls with an Idempotency-Key', (database) => {
  let db: Kysely<MessagingTables>;
  let api: WholeApi;
  let headers: Record<string, string>;
  let userHeaders: Record<string, string>;
  let own: Own;

  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<MessagingTables>();
    api = await startWholeApi(storage);
    const made = await newWorkspace(api.identity);
    headers = { authorization: await bearerFor(api.identity, made), 'x-api-key': made.apiKey };
    const post = async (path: string, body: unknown) =>
      (await api.call('POST', path, { body, headers })).body;
    const list = (await post('/api/contact-list', { name: 'L' })).data.id;
    await post(`/api/contact-list/${list}/contacts`, { contacts: [{ phone: '+12025550111' }] });
    const { template } = await post('/api/template', { templateName: 'T', body: 'Hello', channel: 'sms' });
    const { token } = await api.identity.login({ ...made.user, address: 'tests' });
    userHeaders = { cookie: `session_token=${token}`, 'x-user-id': made.user.id };
    const campaign = await post('/api/campaign', {
      name: 'C',
      channel: ['sms'],
      settings: { sms: { shortCode: '12345', templateId: template.id, version: 1 } },
      contactListId: [list],
      release: { stages: [{ recipients: 1 }] },
      start: false,
    });
    const copy = await post(`/api/campaign/${campaign.data.id}/duplicate`, {});
    const unapproved = copy.data.id;
    const read = await api.call('GET', `/api/campaign/${unapproved}/digest`, { headers });
    const hook = await post('/api/webhook', { url: 'https://hooks.example.com/', events: ['*'] });
    own = {
      ...{ webhook: hook.data.id, list, template: template.id, campaign: campaign.data.id },
      ...{ unapproved, digest: read.body.data.digest },
    };
  });
  afterAll(() => api.stop());

  const rowsOf = async (tables: string[]) => {
    const counts: Record<string, number> = {};
    for (const table of tables) {
      const { rows } = await sql<{ n: number }>`select count(*)::int as n from ${sql.table(table)}`.execute(
        db,
      );
      counts[table] = rows[0]?.n ?? 0;
    }
    return counts;
  };

  test.each(Object.entries(CREATING))(
    '%s is done once, also when it died after its work',
    async (route, call) => {
      const body = call.body(own);
      const path = call.path?.(own) ?? route;
      const post = () =>
        api.call(call.method ?? 'POST', path, {
          body,
          headers: { ...(call.as ? userHeaders : headers), 'idempotency-key': `key of ${route}` },
        });
      const before = await rowsOf(call.tables);
      const first = await post();
      expect(first.status).toBeLessThan(300);
      const after = await rowsOf(call.tables);
      for (const table of call.tables)
        expect([table, after[table]]).toEqual([table, (before[table] ?? 0) + 1]);

      const replayed = await post();
      expect([replayed.status, replayed.headers['idempotent-replay']]).toEqual([first.status, 'true']);
      expect(replayed.body).toEqual(first.body);

      // As if the process had been killed before it kept the answer, and the claim had run out.
      await db
        .updateTable('idempotency_keys')
        .set({ answer: null, lease_until: new Date(0) })
        .execute();
      const again = await post();
      expect(again.headers['idempotent-replay']).toBeUndefined();
      expect(idOf(again.body)).toBe(idOf(first.body));
      expect(again.body.template?.version).toBe(first.body.template?.version);
      expect(await rowsOf(call.tables)).toEqual(after);
    },
  );

  test('every route that takes a key and is no administration is among them', () => {
    const routes = api.routes.filter(
      ({ config, url }) => config?.idempotent && !url.startsWith('/api/admin/'),
    );
    expect(routes.map(({ url }) => url.replace(/\/$/, '')).sort()).toEqual(Object.keys(CREATING).sort());
  });
});

const idOf = (body: { data?: { id: string }; template?: { id: string } }): string | undefined =>
  body.template?.id ?? body.data?.id;
