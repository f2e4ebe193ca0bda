/**
 * Proves that no call of one workspace reads or changes anything of another. Long because every route that names something is
 * asked for it here, in one list.
 */

import type { Kysely } from 'kysely';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { newId } from '../../src/storage/new-id';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, type HttpAnswer, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

/** What the victim has, by the name under which paths and bodies below refer to it. */
interface Things {
  template: string;
  list: string;
  contact: string;
  /** One more of the list, to be erased. */
  erasedContact: string;
  campaign: string;
  endedCampaign: string;
  /** Of the campaign that has ended. */
  recipient: string;
  send: string;
  user: string;
  /** One of the user who makes all this, beside the one that it is made with. */
  session: string;
  client: string;
  key: string;
  uid: string;
  tag: string;
  address: string;
  sender: string;
  webhook: string;
  webhookDelivery: string;
}

/**
 * How each route is tried with what belongs to another workspace.
 *
 * - `id`: the path, or the body, names something of the victim's. The intruder gets `status` (404 unless
 *   said), word for word as for an id that nobody has; the victim, asked the same afterwards, another one.
 * - `list`: the intruder's answer holds nothing of the victim's; the victim's own does.
 * - `own`: the route acts in the caller's workspace, and nothing that it takes names anything elsewhere.
 * - `open`: no workspace is concerned before the caller has proved who it is.
 */
type Probe =
  | { kind: 'id'; path?: (of: Things) => string; body?: (of: Things) => unknown; status?: number }
  | { kind: 'list'; path: string }
  | { kind: 'own'; why: string }
  | { kind: 'open' };

const sms = (templateId: string, uid = newId('uid')) => ({
  channel: 'sms',
  uid,
  to: '+12025550199',
  from: '12345',
  'template-id': templateId,
  params: { NAME: 'Eve' },
});
const campaign = (of: Things, more: object) => ({
  campaignId: null,
  name: 'C',
  channel: ['sms'],
  settings: { sms: { shortCode: '12345', templateId: of.template, version: 1 } },
  contactListId: [of.list],
  start: false,
  ...more,
});
const at = (path: (of: Things) => string, body?: (of: Things) => unknown): Probe => ({
  kind: 'id',
  path,
  ...(body ? { body } : {}),
});

/** In the order in which they are tried: what takes something away comes after what needs it. */
const PROBES: Record<string, Probe> = {
  'GET /healthz': { kind: 'open' },
  'GET /readyz': { kind: 'open' },
  'GET /metrics': { kind: 'open' },
  'GET /openapi.json': { kind: 'open' },
  'GET /docs': { kind: 'open' },
  'GET /docs/errors': { kind: 'open' },
  'GET /docs/static/:file': { kind: 'open' },
  'POST /api/v1/auth/token': { kind: 'open' },
  'POST /api/v1/auth/revoke': { kind: 'open' },
  'POST /api/session': { kind: 'open' },
  'POST /inbound/http/:secret': { kind: 'open' },
  'GET /u/:token': { kind: 'open' },
  'POST /u/:token': { kind: 'open' },
  'GET /inbound/kannel/:secret': { kind: 'open' },
  'POST /inbound/kannel/:secret': { kind: 'open' },
  'GET /calls/:token/:step': { kind: 'open' },
  'POST /calls/:token/:step': { kind: 'open' },
  'GET /inbound/:kind/:account': { kind: 'open' },
  'POST /inbound/:kind/:account': { kind: 'open' },
  'GET /api/session': { kind: 'own', why: 'tells who the caller is' },
  'DELETE /api/session': { kind: 'own', why: "ends the caller's session" },
  'GET /api/session/oidc': { kind: 'open' },
  'GET /api/session/oidc/callback': { kind: 'open' },
  'PUT /api/session/password': { kind: 'own', why: "changes the caller's password" },
  'POST /api/session/totp': { kind: 'own', why: "sets up the caller's codes" },
  'DELETE /api/session/totp': { kind: 'own', why: "turns the caller's codes off" },
  'GET /api/sessions': { kind: 'list', path: '/api/sessions' },
  'DELETE /api/sessions/:id': at((of) => `/api/sessions/${of.session}`),

  'GET /api/template': { kind: 'list', path: '/api/template?channel=sms' },
  'POST /api/template': { kind: 'own', why: 'a template refers to nothing' },
  'GET /api/template/:id': at((of) => `/api/template/${of.template}`),
  'GET /api/template/:id/versions': at((of) => `/api/template/${of.template}/versions`),
  'POST /api/template/:id/preview': at(
    (of) => `/api/template/${of.template}/preview`,
    () => ({ params: { NAME: 'x' } }),
  ),
  'POST /api/template/:id/test-send': at(
    (of) => `/api/template/${of.template}/test-send`,
    () => ({ to: '+12025550100', from: '12345', params: { NAME: 'x' } }),
  ),
  'PUT /api/template/:id': at(
    (of) => `/api/template/${of.template}`,
    () => ({ templateName: `victim's ${newId('n')}`, body: 'Hello {{NAME}}', channel: 'sms' }),
  ),

  'POST /send-msg': { kind: 'id', body: (of) => sms(of.template), status: 422 },
  'POST /send-msg/bulk': { kind: 'own', why: 'each message as by send-msg, told apart below' },
  'GET /send-msg/check': at((of) => `/send-msg/check?channel=sms&from=12345&template-id=${of.template}`),
  'GET /messages': { kind: 'list', path: '/messages' },
  'GET /messages/:uid': at((of) => `/messages/${of.uid}`),
  'DELETE /messages/:uid': at((of) => `/messages/${of.uid}`),
  'GET /stories': {
    kind: 'own',
    why: 'a uid is the caller’s own word, told apart in events/stories.test.ts',
  },
  'GET /events': { kind: 'list', path: '/events' },
  'GET /outbox': { kind: 'own', why: "tells how much room the caller's workspace has" },
  'GET /holds/:campaign': { kind: 'own', why: 'a tag is the caller’s own word, told apart below' },
  'PUT /holds/:campaign': { kind: 'own', why: 'a tag is the caller’s own word, told apart below' },
  'DELETE /holds/:campaign': { kind: 'own', why: 'a tag is the caller’s own word, told apart below' },

  'GET /api/suppression': { kind: 'list', path: '/api/suppression' },
  'GET /api/suppression.csv': { kind: 'list', path: '/api/suppression.csv' },
  'POST /api/suppression': { kind: 'own', why: 'an address belongs to nobody' },
  'DELETE /api/suppression': at((of) => `/api/suppression?channel=email&address=${of.address}`),

  'GET /api/sender-limit': { kind: 'list', path: '/api/sender-limit' },
  'PUT /api/sender-limit': { kind: 'own', why: 'a sender belongs to nobody' },
  'DELETE /api/sender-limit': at((of) => `/api/sender-limit?channel=sms&sender=${of.sender}`),

  'GET /api/webhook': { kind: 'list', path: '/api/webhook' },
  'POST /api/webhook': { kind: 'own', why: 'an endpoint is told of its own workspace' },
  'GET /api/webhook/:id': at((of) => `/api/webhook/${of.webhook}`),
  'PATCH /api/webhook/:id': at(
    (of) => `/api/webhook/${of.webhook}`,
    () => ({ description: 'told still' }),
  ),
  'POST /api/webhook/:id/rotate-secret': at((of) => `/api/webhook/${of.webhook}/rotate-secret`),
  'POST /api/webhook/:id/test': at((of) => `/api/webhook/${of.webhook}/test`),
  'GET /api/webhook/:id/deliveries': at((of) => `/api/webhook/${of.webhook}/deliveries`),
  'POST /api/webhook/:id/deliveries/:deliveryId/redeliver': at(
    (of) => `/api/webhook/${of.webhook}/deliveries/${of.webhookDelivery}/redeliver`,
  ),
  'POST /api/webhook/:id/redeliver': at((of) => `/api/webhook/${of.webhook}/redeliver`),
  'DELETE /api/webhook/:id': at((of) => `/api/webhook/${of.webhook}`),
  'GET /api/stop': { kind: 'own', why: 'a workspace has one stop' },
  'POST /api/stop': { kind: 'own', why: 'a workspace has one stop' },
  'DELETE /api/stop': { kind: 'own', why: 'a workspace has one stop' },
  'GET /api/policy': { kind: 'own', why: 'a workspace has one policy' },
  'PUT /api/policy': { kind: 'own', why: 'a workspace has one policy' },
  'GET /api/contact': { kind: 'list', path: '/api/contact' },
  'GET /api/contact/:id': at((of) => `/api/contact/${of.contact}`),
  'PATCH /api/contact/:id': at(
    (of) => `/api/contact/${of.contact}`,
    () => ({ name: 'Eve' }),
  ),
  'GET /api/contact/:id/export': at((of) => `/api/contact/${of.contact}/export`),
  'GET /api/contact/:id/timeline': at((of) => `/api/contact/${of.contact}/timeline`),

  'GET /api/overview': { kind: 'own', why: "shows what goes on in the caller's workspace" },
  'GET /api/campaign': { kind: 'list', path: '/api/campaign?page=1&limit=100&channel=sms' },
  'POST /api/campaign': { kind: 'id', body: (of) => campaign(of, {}), status: 422 },
  'POST /api/campaign/dry-run': { kind: 'id', body: (of) => campaign(of, {}), status: 422 },
  'GET /api/campaign/:id': at((of) => `/api/campaign/${of.campaign}`),
  'GET /api/campaign/:id/runs': at((of) => `/api/campaign/${of.campaign}/runs`),
  'GET /api/campaign/:id/timeline': at((of) => `/api/campaign/${of.campaign}/timeline`),
  'GET /api/campaign/:id/outcomes': at((of) => `/api/campaign/${of.campaign}/outcomes`),
  'GET /api/campaign/:id/recipients': at((of) => `/api/campaign/${of.campaign}/recipients`),
  'POST /api/campaign/:id/recipients': at(
    (of) => `/api/campaign/${of.campaign}/recipients`,
    () => ({ recipients: [{ phone: '+12025550199' }] }),
  ),
  'GET /api/campaign/:id/recipients/:recipientId': at(
    (of) => `/api/campaign/${of.endedCampaign}/recipients/${of.recipient}`,
  ),
  'GET /api/explain': at((of) => `/api/explain?campaign=${of.endedCampaign}&contact=${of.contact}`),
  'GET /api/campaign/:id/skipped': at((of) => `/api/campaign/${of.campaign}/skipped`),
  'GET /api/campaign/:id/skipped.csv': at((of) => `/api/campaign/${of.campaign}/skipped.csv`),
  'GET /api/campaign/:id/recipients.csv': at((of) => `/api/campaign/${of.campaign}/recipients.csv`),
  'GET /api/campaign/:id/calls': at((of) => `/api/campaign/${of.campaign}/calls`),
  'GET /api/campaign/:id/calls.csv': at((of) => `/api/campaign/${of.campaign}/calls.csv`),
  'POST /api/campaign/:id/duplicate': at((of) => `/api/campaign/${of.campaign}/duplicate`),
  'PATCH /api/campaign/:id': at(
    (of) => `/api/campaign/${of.campaign}`,
    () => ({ delivery: { ratePerSecond: 5 } }),
  ),
  'POST /api/campaign/:id/retry-failed': at((of) => `/api/campaign/${of.campaign}/retry-failed`),
  'POST /api/campaign/:id/release': at((of) => `/api/campaign/${of.campaign}/release`),
  'GET /api/campaign/:id/digest': at((of) => `/api/campaign/${of.campaign}/digest`),
  'POST /api/campaign/:id/approve': at(
    (of) => `/api/campaign/${of.campaign}/approve`,
    () => ({ digest: 'f'.repeat(64) }),
  ),
  'POST /api/campaign/:id/start': at((of) => `/api/campaign/${of.campaign}/start`),
  'POST /api/campaign/:id/pause': at((of) => `/api/campaign/${of.campaign}/pause`),
  'POST /api/campaign/:id/resume': at((of) => `/api/campaign/${of.campaign}/resume`),
  'POST /api/campaign/:id/cancel': at((of) => `/api/campaign/${of.campaign}/cancel`),
  // Of one that is over the stream ends.
  'GET /api/campaign/:id/events': at((of) => `/api/campaign/${of.endedCampaign}/events`),

  'POST /api/send': { kind: 'own', why: 'the service judges the template when it is sent' },
  'GET /api/send/:id': at((of) => `/api/send/${of.send}`),
  'DELETE /api/send/:id': at((of) => `/api/send/${of.send}`),

  'GET /api/contact-list': { kind: 'list', path: '/api/contact-list' },
  'POST /api/contact-list': { kind: 'own', why: 'a list refers to nothing' },
  'GET /api/contact-list/:id': at((of) => `/api/contact-list/${of.list}`),
  'PATCH /api/contact-list/:id': at(
    (of) => `/api/contact-list/${of.list}`,
    () => ({ name: "victim's still" }),
  ),
  'POST /api/contact-list/:id/contacts': at(
    (of) => `/api/contact-list/${of.list}/contacts`,
    () => ({ contacts: [{ email: 'new@example.com' }] }),
  ),
  'GET /api/contact-list/:id/contacts': at((of) => `/api/contact-list/${of.list}/contacts`),
  'DELETE /api/contact/:id': at((of) => `/api/contact/${of.erasedContact}?erase=true`),
  'DELETE /api/contact-list/:id/contacts/:contactId': at(
    (of) => `/api/contact-list/${of.list}/contacts/${of.contact}`,
  ),
  'DELETE /api/contact-list/:id': at((of) => `/api/contact-list/${of.list}`),
  'DELETE /api/template/:id': at((of) => `/api/template/${of.template}`),

  'GET /api/admin/users': { kind: 'list', path: '/api/admin/users' },
  'POST /api/admin/users': { kind: 'own', why: 'a user is made in the workspace of who makes it' },
  'PATCH /api/admin/users/:id': at(
    (of) => `/api/admin/users/${of.user}`,
    () => ({ role: 'member' }),
  ),
  'POST /api/admin/users/:id/disable': at((of) => `/api/admin/users/${of.user}/disable`),
  'POST /api/admin/users/:id/enable': at((of) => `/api/admin/users/${of.user}/enable`),
  'POST /api/admin/users/:id/password': at((of) => `/api/admin/users/${of.user}/password`),
  'DELETE /api/admin/users/:id/totp': at((of) => `/api/admin/users/${of.user}/totp`),
  'GET /api/admin/audit': { kind: 'list', path: '/api/admin/audit?limit=100' },
  'GET /api/admin/audit/chain': { kind: 'own', why: "shows both ends of the workspace's log" },
  'GET /api/admin/clients': { kind: 'list', path: '/api/admin/clients' },
  'POST /api/admin/clients': { kind: 'own', why: 'a client is made in the workspace of who makes it' },
  'POST /api/admin/clients/:id/rotate': at((of) => `/api/admin/clients/${of.client}/rotate`),
  'POST /api/admin/clients/:id/disable': at((of) => `/api/admin/clients/${of.client}/disable`),
  'POST /api/admin/clients/:id/enable': at((of) => `/api/admin/clients/${of.client}/enable`),
  'GET /api/admin/api-keys': { kind: 'list', path: '/api/admin/api-keys' },
  'POST /api/admin/api-keys': { kind: 'own', why: 'a key is made in the workspace of who makes it' },
  'DELETE /api/admin/api-keys/:id': at((of) => `/api/admin/api-keys/${of.key}`),
  ...Object.fromEntries(
    [
      ...['GET /api/admin/accounts', 'POST /api/admin/accounts', 'GET /api/admin/accounts/:id'],
      ...['PATCH /api/admin/accounts/:id', 'DELETE /api/admin/accounts/:id'],
      ...['POST /api/admin/accounts/:id/reopen'],
      ...['POST /api/admin/accounts/:id/check', 'GET /api/admin/routes', 'PUT /api/admin/routes'],
      ...['GET /api/admin/senders', 'POST /api/admin/senders', 'DELETE /api/admin/senders/:id'],
    ].map((route) => [
      route,
      { kind: 'own', why: 'the installation’s, tested in admin-accounts and admin-senders' } as const,
    ]),
  ),
  'GET /api/admin/workspaces': { kind: 'own', why: 'shown to an owner only, tested with administration' },
  'GET /api/admin/installation': { kind: 'own', why: 'the installation’s, which has no workspace' },
  'POST /api/admin/workspaces': { kind: 'own', why: 'nobody’s but an owner’s, tested with administration' },
};

/** Of a workspace that nobody else knows anything of. */
const NOWHERE: Things = {
  template: newId('tpl'),
  list: newId('lst'),
  contact: newId('con'),
  erasedContact: newId('con'),
  campaign: newId('cmp'),
  endedCampaign: newId('cmp'),
  recipient: `${newId('run')}.sms.0`,
  send: newId('snd'),
  user: newId('usr'),
  session: newId('ses'),
  client: newId('cli'),
  key: newId('key'),
  uid: newId('uid'),
  tag: newId('tag'),
  address: 'nobody-at-all@example.com',
  sender: 'nobodyco',
  webhook: newId('whk'),
  webhookDelivery: newId('whd'),
};

interface Caller {
  workspaceId: string;
  headers: { app: Record<string, string>; admin: Record<string, string> };
}

describeWithDatabase('isolation between workspaces', (database) => {
  let db: Kysely<MessagingTables>;
  let api: WholeApi;
  let victim: Caller;
  let intruder: Caller;
  let things: Things;
  /** Each names the victim or something of its. */
  let traces: string[];

  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<MessagingTables>();
    api = await startWholeApi(storage);
    // The owner of the installation, who is nobody's neighbour here.
    await newWorkspace(api.identity);
    victim = await newCaller();
    intruder = await newCaller();
    things = await furnish(victim);
    traces = [victim.workspaceId, ...Object.values(things)];
  });
  afterAll(() => api?.stop());

  async function newCaller(): Promise<Caller> {
    const made = await newWorkspace(api.identity);
    await api.identity.login({ ...made.user, address: 'tests' });
    const { token } = await api.identity.login({ ...made.user, address: 'tests' });
    return {
      workspaceId: made.workspace.id,
      headers: {
        app: { authorization: await bearerFor(api.identity, made), 'x-api-key': made.apiKey },
        admin: { cookie: `session_token=${token}`, 'x-user-id': made.user.id },
      },
    };
  }

  function call(as: Caller, method: string, path: string, body?: unknown): Promise<HttpAnswer> {
    const asUser = /^\/api\/(?:admin|session)/.test(path) || path.endsWith('/approve');
    const headers = asUser ? as.headers.admin : as.headers.app;
    return api.call(method, path, { headers, body });
  }

  async function furnish(as: Caller): Promise<Things> {
    const make = async (path: string, body: unknown) => (await call(as, 'POST', path, body)).body;
    const { template } = await make('/api/template', {
      templateName: newId("victim's"),
      body: 'Hello {{NAME}}',
      channel: 'sms',
    });
    const list = (await make('/api/contact-list', { name: "victim's list" })).data.id;
    const contacts = [
      { email: 'victims-contact@example.com', phone: '+12025550111', name: 'V' },
      { email: 'victims-other@example.com' },
    ];
    await make(`/api/contact-list/${list}/contacts`, { contacts });
    const members = await call(as, 'GET', `/api/contact-list/${list}/contacts`);
    const sessions = await call(as, 'GET', '/api/sessions');
    const [uid, tag] = [newId('uid'), newId('tag')];
    await call(as, 'PUT', `/holds/${tag}`);
    const sent = await make('/send-msg', { ...sms(template.id, uid), campaign: tag });
    expect(sent.status).toBe(202);
    const address = 'victims-suppressed@example.com';
    await make('/api/suppression', { channel: 'email', address, reason: 'asked' });
    const sender = 'victimco';
    await call(as, 'PUT', '/api/sender-limit', { channel: 'sms', sender, rate: 1 });
    const hook = { url: 'https://victims-hook.example/told', events: ['*'] };
    const webhook = (await make('/api/webhook', hook)).data.id;
    const of = { template: template.id, list } as Things;
    const user = (await make('/api/admin/users', { email: `${newId('victims')}@example.com` })).data.id;
    const endedCampaign = (await make('/api/campaign', campaign(of, {}))).data.id;
    await make(`/api/campaign/${endedCampaign}/cancel`, {});
    return {
      ...of,
      endedCampaign,
      recipient: await freezeOne(as, endedCampaign, list),
      send: (await make('/api/send', sms(template.id))).data.id,
      contact: members.body.data[0].id,
      erasedContact: members.body.data[1].id,
      campaign: (await make('/api/campaign', campaign(of, { start: false }))).data.id,
      user,
      session: sessions.body.data.find(({ current }: { current: boolean }) => !current).id,
      client: (await make('/api/admin/clients', { name: "victim's" })).data.id,
      key: (await make('/api/admin/api-keys', { name: "victim's" })).data.id,
      uid,
      tag,
      address,
      sender,
      webhook,
      webhookDelivery: (await make(`/api/webhook/${webhook}/test`, {})).data.id,
    };
  }

  /** The id of the campaign's only recipient. */
  async function freezeOne(as: Caller, campaignId: string, listId: string): Promise<string> {
    const { runId } = (await call(as, 'GET', `/api/campaign/${campaignId}`)).body.data;
    await freezeAudience(db as unknown as Kysely<CampaignTables>, {
      ...{ runId, workspaceId: as.workspaceId, channel: 'sms', contactListIds: [listId] },
      ...{ placeholders: [], campaignParams: {} },
    });
    return `${runId}.sms.0`;
  }

  const keyOf = ({ method, url }: { method: string | string[]; url: string }) =>
    `${[method].flat().join(',')} ${url.replace(/(?<=.)\/$/, '')}`;

  test('every route has its probe here', () => {
    const routes = api.routes.map(keyOf).filter((key) => !key.startsWith('HEAD '));
    const known = Object.keys(PROBES);
    expect({ withoutProbe: routes.filter((key) => !known.includes(key)) }).toEqual({ withoutProbe: [] });
    expect({ withoutRoute: known.filter((key) => !routes.includes(key)) }).toEqual({ withoutRoute: [] });
  });

  const probes = Object.entries(PROBES);
  const listProbes = probes.flatMap(([route, probe]) => (probe.kind === 'list' ? [{ route, ...probe }] : []));
  const idProbes = probes.flatMap(([route, probe]) => (probe.kind === 'id' ? [{ route, ...probe }] : []));

  test.each(listProbes)('$route lists nothing of another workspace', async ({ route, path }) => {
    const method = route.split(' ')[0] as string;
    const seen = async (as: Caller) => {
      const answer = await call(as, method, path);
      expect(answer.status).toBe(200);
      return traces.filter((trace) => JSON.stringify(answer.body).includes(trace));
    };
    expect(await seen(intruder)).toEqual([]);
    expect(await seen(victim)).not.toEqual([]);
  });

  test.each(idProbes)('$route does not know what another workspace has', async (probe) => {
    const [method = '', pattern = ''] = probe.route.split(' ');
    const ask = (as: Caller, of: Things) => call(as, method, probe.path?.(of) ?? pattern, probe.body?.(of));
    const refused = await ask(intruder, things);
    expect([refused.status, refused.body.result]).toEqual([probe.status ?? 404, 'error']);
    // The same to the letter, but for the ids that the caller has given itself.
    const unknown = await ask(intruder, NOWHERE);
    expect(withoutIds(refused, things)).toEqual(withoutIds(unknown, NOWHERE));
    const granted = await ask(victim, things);
    expect(granted.status).not.toBe(probe.status ?? 404);
  });

  function withoutIds(answer: HttpAnswer, of: Things): unknown {
    let text = JSON.stringify({ ...answer.body, instance: '' });
    for (const [name, value] of Object.entries(of)) text = text.replaceAll(value, name);
    return [answer.status, JSON.parse(text)];
  }

  test('references to what another workspace has are refused, wherever a body may hold them', async () => {
    // The probes have taken from the victim what it had.
    const others = await furnish(await newCaller());
    const own = await furnish(intruder);
    const foreign: [string, unknown][] = [
      ['/api/campaign', campaign(own, { contactListId: [others.list] })],
      ['/api/campaign', campaign({ ...own, template: others.template }, {})],
      ['/api/campaign', campaign(own, { campaignId: others.campaign })],
      [`/api/template/${own.template}/preview`, { params: {}, contactId: others.contact }],
    ];
    for (const [path, body] of foreign) {
      const { status } = await call(intruder, 'POST', path, body);
      expect([path, status]).toEqual([path, status === 404 ? 404 : 422]);
    }
    const bulk = await call(intruder, 'POST', '/send-msg/bulk', { messages: [sms(others.template)] });
    expect(bulk.body.data.results[0].status).toBe(422);
  });

  test('holding, reading and releasing a tag concern the caller’s own messages only', async () => {
    const holds = () =>
      db.selectFrom('holds').select('campaign').where('workspace_id', '=', victim.workspaceId).execute();
    const before = await holds();
    expect(before).toEqual([{ campaign: things.tag }]);
    await call(intruder, 'PUT', '/holds/another');
    await call(intruder, 'DELETE', `/holds/${things.tag}`);
    const heldTo = async (caller: typeof victim) =>
      (await call(caller, 'GET', `/holds/${things.tag}`)).body.data.held;
    expect([await heldTo(victim), await heldTo(intruder)]).toEqual([true, false]);
    expect(await holds()).toEqual(before);
  });

  test('the same uid in two workspaces is two messages', async () => {
    const own = await furnish(intruder);
    const answer = await call(intruder, 'POST', '/send-msg', sms(own.template, things.uid));
    expect([answer.status, answer.body.data?.duplicate]).toEqual([202, false]);
  });
});
