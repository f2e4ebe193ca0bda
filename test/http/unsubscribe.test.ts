/** Proves the unsubscribe link in a mail, for people and for mail services. */

import { FormData, request } from 'undici';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { startWholeApi, UNSUBSCRIBE_TOKENS, type WholeApi } from './whole-api';

const FORM = 'application/x-www-form-urlencoded';
const ONE_CLICK = 'List-Unsubscribe=One-Click';
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describeWithDatabase('the link that unsubscribes', (database) => {
  let api: WholeApi;
  let people = 0;
  let address: string;
  let path: string;
  let linkOf: (address: string) => string;
  let blocks: () => Promise<{ source: string; reason: string; channel: string; sender: string }[]>;

  beforeAll(async () => {
    const storage = await database.open();
    const db = storage.tables<MessagingTables>();
    api = await startWholeApi(storage);
    linkOf = (one) => `/u/${UNSUBSCRIBE_TOKENS.seal({ workspaceId: api.rig.workspaceId, address: one })}`;
    blocks = () =>
      db
        .selectFrom('suppressions')
        .select(['source', 'reason', 'channel', 'sender'])
        .where('workspace_id', '=', api.rig.workspaceId)
        .where('address', '=', address)
        .execute();
  });
  afterAll(() => api.stop());
  beforeEach(() => {
    people += 1;
    address = `person-${people}@example.com`;
    path = linkOf(address);
  });

  const post = (body: unknown = ONE_CLICK, headers: Record<string, string> = {}, type = FORM) =>
    api.call('POST', path, { body, headers, type });

  test('one click: no cookie, no redirection, and no mail of the workspace from then on', async () => {
    const { status, headers, body } = await post();
    expect([status, headers.location, headers['set-cookie']]).toEqual([200, undefined, undefined]);
    expect(body.data).toEqual({ unsubscribed: true });
    expect(await blocks()).toEqual([
      { source: 'unsubscribe', reason: 'one_click', channel: 'email', sender: '' },
    ]);
    const mail = api.rig.email(`after-${people}`, { to: address.toUpperCase(), from: 'other@example.com' });
    const { delivery } = await api.rig.process();
    expect((await delivery.accept(api.rig.workspaceId, mail)).state).toBe('suppressed');
  });

  test('again, it is harmless', async () => {
    expect([(await post()).status, (await post()).status]).toEqual([200, 200]);
    expect(await blocks()).toHaveLength(1);
  });

  test('a mail service may send a form of parts', async () => {
    const form = new FormData();
    form.set('List-Unsubscribe', 'One-Click');
    const { statusCode, body } = await request(`${api.url}${path}`, { method: 'POST', body: form });
    await body.dump();
    expect(statusCode).toBe(200);
    expect(await blocks()).toHaveLength(1);
  });

  test.each(['GET', 'HEAD'] as const)('%s changes nothing, however often', async (method) => {
    for (let i = 0; i < 3; i++) {
      expect((await api.call(method, path, { headers: BROWSER })).status).toBe(200);
    }
    expect(await blocks()).toEqual([]);
  });

  test.each(['', 'x=1', 'List-Unsubscribe=no', 'action=unsubscribe'])(
    'a program that posts %j to try links out unsubscribes no address',
    async (body) => {
      const { status } = await post(body);
      expect([400, 422]).toContain(status);
      expect(await blocks()).toEqual([]);
    },
  );

  test.each([undefined, 'application/json'])(
    'a post without a body, as %s, is told what to post, and unsubscribes no address',
    async (type) => {
      const { statusCode, body } = await request(`${api.url}${path}`, {
        method: 'POST',
        headers: type === undefined ? {} : { 'content-type': type },
      });
      const { code, detail } = (await body.json()) as Record<string, string>;
      expect([statusCode, code]).toEqual([400, 'malformed_body']);
      expect(detail).toBe('The body is empty; to unsubscribe, post the form List-Unsubscribe=One-Click');
      expect(await blocks()).toEqual([]);
    },
  );

  test('a person gets a page with one button, which leads to another page', async () => {
    const page = await api.call('GET', path, { headers: BROWSER });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.body).toContain('<html lang="en" dir="ltr">');
    expect(page.body.match(/<h1>/g)).toHaveLength(1);
    expect(page.body.match(/<form method="post">/g)).toHaveLength(1);
    expect(page.body.match(/<button>/g)).toHaveLength(1);
    const [, name, value] = /name="([^"]+)" value="([^"]+)"/.exec(page.body) ?? [];
    const done = await post(`${name}=${value}`, BROWSER);
    expect([done.status, done.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(done.body).toContain('You are unsubscribed');
    expect(done.body).toContain('value="resubscribe"');
    expect(await blocks()).toHaveLength(1);
  });

  test('the way back lifts what the link made, and nothing else', async () => {
    await post();
    const back = await post('action=resubscribe', BROWSER);
    expect(back.body).toContain('You are subscribed again');
    expect(await blocks()).toEqual([]);
    const db = api.rig.db;
    for (const source of ['complaint', 'bounce', 'api'] as const) {
      await db.deleteFrom('suppressions').where('address', '=', address).execute();
      await db
        .insertInto('suppressions')
        .values({
          id: `sup_${source}_${people}`,
          workspace_id: api.rig.workspaceId,
          address,
          channel: 'email',
          reason: 'kept',
          source,
        })
        .execute();
      await post();
      const back = await post('action=resubscribe', BROWSER);
      expect(await blocks()).toMatchObject([{ source, reason: 'kept' }]);
      // What stays is said, because no mail comes.
      expect(back.body).toContain('You are unsubscribed');
      expect((await post('action=resubscribe')).body).toMatchObject({ data: { unsubscribed: true } });
    }
  });

  test('the page runs no script, loads nothing, is not indexed, and sends no referrer', async () => {
    const { headers, body } = await api.call('GET', path, { headers: BROWSER });
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; form-action 'self';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(body).not.toMatch(/<script|<img|<link|https?:|\bon\w+=/i);
    expect(body).toContain('noindex');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
    });
    expect(body).not.toContain(address);
  });

  test.each([
    [undefined, 'en'],
    ['', 'en'],
    ['de', 'de'],
    ['pt-BR,pt;q=0.9,en;q=0.8', 'pt'],
    ['FR-ca', 'fr'],
    ['sv,nl;q=0.3,it;q=0.7', 'it'],
    ['sv, *;q=0.5, es;q=0.4', 'en'],
    ['de;q=0, nl;q=0.1', 'nl'],
    ['es;q=x, it;q=0.2', 'it'],
    ['ja', 'en'],
    ['den', 'en'],
    [`${'sv,'.repeat(5_000)}de`, 'en'],
  ])('to a browser that likes %.40j the page is in %s', async (wish, language) => {
    const headers = { ...BROWSER, ...(wish === undefined ? {} : { 'accept-language': wish }) };
    for (const page of [
      await api.call('GET', path, { headers }),
      await api.call('GET', '/u/x', { headers }),
    ]) {
      expect(page.headers['content-language']).toBe(language);
      expect(page.headers.vary).toContain('accept-language');
      expect(page.body).toContain(`<html lang="${language}" dir="ltr">`);
    }
  });

  test('a link that we did not make is not there, whatever is wrong with it', async () => {
    const token = path.slice(3);
    const other = linkOf('else@example.com').slice(3);
    const wrong = [
      'x',
      `${token.slice(0, -2)}AA`,
      `b${token.slice(1)}`,
      token.slice(0, 25) + other.slice(25),
      `${token}A`,
      ...Array.from({ length: 4 }, (_, n) => `${linkOf(`${'x'.repeat(n)}@example.com`).slice(3)}A`),
      'a'.repeat(400),
    ];
    for (const one of wrong) {
      for (const method of ['GET', 'POST'] as const) {
        const options = method === 'POST' ? { body: ONE_CLICK, type: FORM } : {};
        const { status, body } = await api.call(method, `/u/${one}`, options);
        expect([one, status, body.code]).toEqual([one, 404, 'not_found']);
      }
    }
    const page = await api.call('GET', '/u/x', { headers: BROWSER });
    expect([page.status, page.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(await blocks()).toEqual([]);
  });

  test('one link is used some times a minute, and others go on', async () => {
    const statuses = [];
    for (let i = 0; i < 25; i++) statuses.push((await post()).status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(5);
    expect((await post()).headers['retry-after']).toMatch(/^\d+$/);
    path = linkOf('somebody-else@example.com');
    expect((await post()).status).toBe(200);
  });

  test('the longest address there is has a link that works', async () => {
    address = `${'x'.repeat(64)}@${'y'.repeat(63)}.${'z'.repeat(63)}.${'w'.repeat(57)}.com`;
    expect(address).toHaveLength(254);
    path = linkOf(address);
    expect((await post()).status).toBe(200);
    expect(await blocks()).toHaveLength(1);
  });
});
