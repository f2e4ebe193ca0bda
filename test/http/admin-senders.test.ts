import { generateKeyPairSync } from 'node:crypto';
import type { Kysely } from 'kysely';
import { createLog } from '../../src/log';
import { createSealing } from '../../src/messaging/access/sealing';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createRegisteredSenders, sealSendersAnew } from '../../src/messaging/senders/registered-senders';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { bearerFor, type HttpAnswer, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

const KEY = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const ANN = '+12025550101';

describeWithDatabase('senders that belong to workspaces', (database) => {
  let api: WholeApi;
  let strict: WholeApi;
  let db: Kysely<MessagingTables>;
  let owner: Record<string, string>;
  let admin: Record<string, string>;
  let one: Member;
  let other: Member;

  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<MessagingTables>();
    api = await startWholeApi(storage);
    strict = await startWholeApi(storage, { senderMode: 'registered' });
    const first = await newWorkspace(api.identity);
    const second = await newWorkspace(api.identity);
    const cookie = async (user: typeof first.user) => ({
      cookie: `session_token=${(await api.identity.login({ ...user, address: 'tests' })).token}`,
    });
    owner = await cookie(first.user);
    admin = await cookie(second.user);
    one = await member(first);
    other = await member(second);
  });
  afterAll(async () => {
    await api.stop();
    await strict.stop();
  });
  afterEach(async () => {
    for (const { id } of (await call('GET', '')).body.data) await call('DELETE', `/${id}`);
  });

  interface Member {
    id: string;
    headers: Record<string, string>;
    template: string;
    list: string;
  }

  async function member(workspace: Awaited<ReturnType<typeof newWorkspace>>): Promise<Member> {
    const headers = {
      authorization: await bearerFor(api.identity, workspace),
      'x-api-key': workspace.apiKey,
    };
    const post = async (path: string, body: unknown) =>
      (await api.call('POST', path, { headers, body })).body;
    const sms = { templateName: 'T', channel: 'sms', body: 'Hello' };
    const { id: template } = (await post('/api/template', sms)).template;
    const { id: list } = (await post('/api/contact-list', { name: 'L' })).data;
    await post(`/api/contact-list/${list}/contacts`, { contacts: [{ externalId: '1', phone: ANN }] });
    return { id: workspace.workspace.id, headers, template, list };
  }

  const call = (method: string, path: string, body?: unknown, headers = owner): Promise<HttpAnswer> =>
    api.call(method, `/api/admin/senders${path}`, { headers, ...(body === undefined ? {} : { body }) });
  const register = (channel: string, sender: string, more: object = {}) =>
    call('POST', '', { workspace: one.id, channel, sender, ...more });

  /** What each way of sending answers to a workspace that uses the sender: its status and code. */
  async function answersTo(who: Member, from: string, server = api) {
    const post = async (path: string, body: unknown) => {
      const answer = await server.call('POST', path, { headers: who.headers, body });
      return answer.body.code ?? answer.status;
    };
    const message = { channel: 'sms', to: ANN, from, 'template-id': who.template };
    const campaign = {
      campaignId: null,
      ...{ name: 'C', channel: ['sms'], contactListId: [who.list], start: false },
      settings: { sms: { shortCode: from, templateId: who.template, version: 1 } },
    };
    const uid = () => `u${Math.random()}`;
    const bulk = await server.call('POST', '/send-msg/bulk', {
      headers: who.headers,
      body: { messages: [{ ...message, uid: uid() }] },
    });
    return {
      send: await post('/send-msg', { ...message, uid: uid() }),
      bulk: bulk.body.data.results[0].code ?? bulk.body.data.results[0].status,
      test: await post(`/api/template/${who.template}/test-send`, { to: ANN, from, params: {} }),
      campaign: await post('/api/campaign', campaign),
      dryRun: await post('/api/campaign/dry-run', campaign),
      durable: await post('/api/send', { ...message, uid: uid() }),
    };
  }
  const all = (value: number | string) =>
    Object.fromEntries(['send', 'bulk', 'test', 'campaign', 'dryRun', 'durable'].map((way) => [way, value]));
  const TAKEN = { send: 202, bulk: 202, test: 202, campaign: 201, dryRun: 200, durable: 202 };

  test('only an owner sees and changes them', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['POST', ''],
      ['DELETE', '/snr_none'],
    ] as const) {
      expect((await call(method, path, undefined, admin)).status).toBe(403);
      expect((await api.call(method, `/api/admin/senders${path}`)).status).toBe(401);
    }
    expect((await call('DELETE', '/snr_none')).status).toBe(404);
  });

  test('a sender is refused to every other workspace, on every way of sending, until it is deleted', async () => {
    const made = await register('sms', 'Bookshop');
    expect([made.status, made.body.data]).toEqual([
      201,
      { id: expect.any(String), workspace: one.id, channel: 'sms', sender: 'Bookshop' },
    ]);
    expect((await call('GET', '')).body.data).toEqual([made.body.data]);
    expect(await answersTo(one, 'BOOKSHOP')).toEqual(TAKEN);
    expect(await answersTo(other, 'bookShop')).toEqual(all('sender_not_allowed'));
    expect(await answersTo(other, 'Bookshops')).toEqual(TAKEN);
    expect((await call('DELETE', `/${made.body.data.id}`)).status).toBe(200);
    expect(await answersTo(other, 'Bookshop')).toEqual(TAKEN);
  });

  test('a draft and a scheduled campaign are refused at their start when the sender has become another’s', async () => {
    const create = async (more: object) => {
      const { body } = await api.call('POST', '/api/campaign', {
        headers: other.headers,
        body: {
          campaignId: null,
          ...{ name: 'C', channel: ['sms'], contactListId: [other.list], ...more },
          settings: { sms: { shortCode: '54321', templateId: other.template, version: 1 } },
        },
      });
      return body.data.id as string;
    };
    const draft = await create({ start: false });
    const scheduled = await create({
      schedule: { startAt: new Date(Date.now() + 86_400_000).toISOString() },
    });
    await register('sms', '54321');
    for (const id of [draft, scheduled]) {
      const { status, body } = await api.call('POST', `/api/campaign/${id}/start`, {
        headers: other.headers,
      });
      expect([status, body.code]).toEqual([422, 'sender_not_allowed']);
    }
  });

  test('a message that was accepted before is answered as before', async () => {
    const message = { channel: 'sms', uid: 'before', to: ANN, from: 'Early', 'template-id': other.template };
    const send = () => api.call('POST', '/send-msg', { headers: other.headers, body: message });
    expect((await send()).status).toBe(202);
    await register('sms', 'Early');
    const again = await send();
    expect([again.status, again.body.data.duplicate]).toEqual([200, true]);
  });

  test('with FANFARE_SENDERS=registered what no workspace has registered is refused too', async () => {
    await register('sms', '+1 202 555 0199');
    expect((await call('GET', '')).body.data[0].sender).toBe('+12025550199');
    // The change reaches the other process within its poll.
    await until(
      'the other process knows the sender',
      async () => (await answersTo(one, '+12025550199', strict)).send === 202,
    );
    expect(await answersTo(one, '+12025550199', strict)).toEqual(TAKEN);
    expect(await answersTo(one, '+12025550198', strict)).toEqual(all('sender_not_allowed'));
  });

  test('a domain of email leaves its subdomains to others', async () => {
    await register('email', 'Books.example');
    const send = async (from: string) => {
      const body = { channel: 'email', uid: from, to: 'a@b.example', from, subject: 'S', body: 'B' };
      return (await api.call('POST', '/send-msg', { headers: other.headers, body })).status;
    };
    expect(await send('"Ann" <ann@BOOKS.example>')).toBe(422);
    expect(await send('ann@news.books.example')).toBe(202);
    expect(await send('ann@otherbooks.example')).toBe(202);
  });

  test('a sender of another workspace is taken; for its own workspace it has the new key', async () => {
    const signed = { dkim: { selector: 'k1', privateKey: KEY } };
    const first = await register('email', 'books.example', signed);
    expect(first.body.data.dkim).toEqual({ selector: 'k1' });
    const taken = await call('POST', '', { workspace: other.id, channel: 'email', sender: 'BOOKS.example' });
    expect([taken.status, taken.body.code]).toEqual([409, 'sender_taken']);
    const again = await register('email', 'books.example', { dkim: { selector: 'k2', privateKey: KEY } });
    expect(again.body.data).toEqual({ ...first.body.data, dkim: { selector: 'k2' } });
    expect((await register('email', 'books.example')).body.data).not.toHaveProperty('dkim');
    // The same name on another channel is another sender.
    expect((await call('POST', '', { workspace: other.id, channel: 'voice', sender: ANN })).status).toBe(201);
  });

  test('everything that is wrong with it is told', async () => {
    const codes = async (body: unknown) =>
      (await call('POST', '', body)).body.errors
        .map((found: { path: string; code: string }) => `${found.path} ${found.code}`)
        .sort();
    expect(await codes({ workspace: 'ws_none', channel: 'sms', sender: 'Bookshop' })).toEqual([
      'workspace not_found',
    ]);
    expect(await codes({ workspace: 'ws_none', channel: 'sms', sender: '', more: 1 })).toEqual([
      ...['more unknown_field', 'sender too_small', 'workspace not_found'],
    ]);
    expect(await codes({ workspace: one.id, channel: 'email', sender: 'ann@books.example' })).toEqual([
      'sender invalid_sender',
    ]);
    expect(
      await codes({
        ...{ workspace: one.id, channel: 'sms', sender: 'ThisIsTooLongForSms' },
        dkim: { selector: 'k', privateKey: KEY },
      }),
    ).toEqual(['dkim not_applicable', 'sender invalid_sender']);
    expect(
      await codes({
        ...{ workspace: one.id, channel: 'email', sender: 'books.example', more: 1 },
        dkim: { selector: 'a b', privateKey: 'no key' },
      }),
    ).toContain('dkim.privateKey invalid_format');
  });

  test('a DKIM key is sealed, shown by no answer, and sealed anew under a new key', async () => {
    const made = await register('email', 'books.example', { dkim: { selector: 'k1', privateKey: KEY } });
    const list = await call('GET', '');
    const secret = KEY.split('\n')[1] as string;
    const rows = await db.selectFrom('registered_senders').selectAll().execute();
    expect(JSON.stringify([made.body, list.body, rows])).not.toContain(secret);
    const both = createSealing([Buffer.alloc(32, 3), Buffer.alloc(32, 2)]);
    expect(await sealSendersAnew(db, both)).toEqual([]);
    const fresh = createRegisteredSenders({
      ...{ db, mode: 'open', log: createLog('silent') },
      sealing: createSealing([Buffer.alloc(32, 3)]),
    });
    await fresh.refresh();
    expect(fresh.dkimOf('Books.example')).toEqual({
      ...{ domain: 'books.example', selector: 'k1', privateKey: KEY },
    });
    expect(fresh.dkimOf('news.books.example')).toBeUndefined();
  });
});
