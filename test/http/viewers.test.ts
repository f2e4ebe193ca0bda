/** Proves that a viewer sees no address of a recipient or a contact, and finds nobody by one. */

import type { Kysely } from 'kysely';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { ROLES, type Role } from '../../src/domain/access';
import { maskAddresses, maskedValue } from '../../src/http/request/viewers';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

const EMAIL = 'anna@shop.example';
const PHONE = '+12025550143';
/** What no answer to a viewer may hold. */
const ADDRESS = /anna@|12025550143|bert@/;

describe('masked addresses', () => {
  test.each([
    [EMAIL, 'a***@s***'],
    [PHONE, '+1•••43'],
    ['+4915112345678', '+49•••78'],
    ['+79031234567', '+7•••67'],
    ['+420601234567', '+420•••67'],
    ['+35312345678', '+353•••78'],
    [`Ümit <ümit@schön.example>, then ${PHONE}.`, 'Ümit <ü***@s***>, then +1•••43.'],
    [`"${EMAIL}",${PHONE}`, '"a***@s***",+1•••43'],
    ['anna@shop.example.', 'a***@s***'],
    ['2026-11-24T10:15:00+02:00', '2026-11-24T10:15:00+02:00'],
    ['1 + 2 = 3, +12', '1 + 2 = 3, +12'],
    ['no address', 'no address'],
  ])('%s is shown as %s', (text, masked) => {
    expect(maskAddresses(text)).toBe(masked);
  });

  test('members that name senders, or the caller, stay', () => {
    const value = {
      from: EMAIL,
      to: EMAIL,
      user: { email: EMAIL },
      steps: [{ detail: `sent to ${PHONE}` }],
      n: 1,
    };
    expect(maskedValue(value)).toEqual({
      from: EMAIL,
      to: 'a***@s***',
      user: { email: EMAIL },
      steps: [{ detail: 'sent to +1•••43' }],
      n: 1,
    });
  });
});

describeWithDatabase('viewers', (database) => {
  let api: WholeApi;
  let db: Kysely<CampaignTables>;
  const headersOf = {} as Record<Role, Record<string, string>>;
  let list: string;
  let contact: string;
  let campaign: string;

  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<CampaignTables>();
    api = await startWholeApi(storage);
    const owner = await newWorkspace(api.identity);
    const workspaceId = owner.workspace.id;
    for (const role of ROLES) {
      const email = `${role}@viewers.example`;
      const { user, password } = await api.identity.users.create(
        { workspaceId, role: 'owner' },
        { email, role },
      );
      const { token } = await api.identity.login({ email, password, address: 'tests' });
      headersOf[role] = { cookie: `session_token=${token}`, 'x-user-id': user.id };
    }
    const as = { headers: { authorization: await bearerFor(api.identity, owner) } };
    const post = async (path: string, body: unknown) => (await api.call('POST', path, { ...as, body })).body;
    list = (await post('/api/contact-list', { name: 'Readers' })).data.id;
    await post(`/api/contact-list/${list}/contacts`, {
      contacts: [
        {
          externalId: 'cust-1',
          name: 'Anna',
          email: EMAIL,
          phone: PHONE,
          params: { FRIEND: 'bert@shop.example' },
        },
        { externalId: EMAIL, name: 'Twin', email: 'bert@shop.example' },
      ],
    });
    const { rows } = { rows: (await api.call('GET', '/api/contact?search=cust-1', as)).body.data };
    contact = rows[0].id;
    await post('/api/suppression', { channel: 'email', address: EMAIL, reason: 'asked by phone' });
    const template = (await post('/api/template', { templateName: 'T', body: 'Hello', channel: 'sms' }))
      .template.id;
    campaign = (
      await post('/api/campaign', {
        campaignId: null,
        name: 'C',
        channel: ['sms'],
        settings: { sms: { shortCode: '+12025550100', templateId: template, version: 1 } },
        contactListId: [list],
      })
    ).data.id;
    const run = await db.selectFrom('runs').select('id').executeTakeFirstOrThrow();
    await freezeAudience(db, {
      ...{
        runId: run.id,
        workspaceId,
        channel: 'sms',
        contactListIds: [list],
        placeholders: [],
        campaignParams: {},
      },
    });
  });
  afterAll(() => api.stop());

  const get = (path: string, role: Role = 'viewer') => api.call('GET', path, { headers: headersOf[role] });
  const text = async (path: string, role: Role = 'viewer') => JSON.stringify((await get(path, role)).body);

  test('no answer and no CSV file holds an address, and those of an editor do', async () => {
    for (const path of [
      '/api/contact',
      `/api/contact/${contact}`,
      `/api/contact/${contact}/timeline`,
      `/api/contact-list/${list}/contacts`,
      '/api/suppression',
      '/api/suppression.csv',
      `/api/campaign/${campaign}/recipients`,
      `/api/campaign/${campaign}/recipients.csv`,
    ]) {
      const seen = await text(path);
      expect([path, seen.match(ADDRESS)]).toEqual([path, null]);
      expect([path, /\*\*\*@s\*\*\*|\+1•••43/.test(seen)]).toEqual([path, true]);
      expect([path, ADDRESS.test(await text(path, 'editor'))]).toEqual([path, true]);
    }
  });

  /** Whatever the API has to read, so that an endpoint which is added later is tried as well. */
  test('no operation that reads answers a viewer with an address, nor does a stream', async () => {
    const run = await db.selectFrom('runs').select('id').executeTakeFirstOrThrow();
    const ids: [string, string][] = [
      ['/api/contact/:id', contact],
      ['/api/contact-list/:id', list],
      ['/api/campaign/:id', campaign],
      ['/messages/:uid', `${run.id}.sms.0`],
    ];
    const answered: string[] = [];
    let streams = 0;
    for (const { method, url } of api.routes) {
      if (![method].flat().includes('GET')) continue;
      const [beginning, id] = ids.find(([pattern]) => url.startsWith(pattern)) ?? ['', ''];
      const path = `${id}` === '' ? url : url.replace(beginning, beginning.replace(/:\w+$/, id));
      const query = url === '/api/explain' ? `?campaign=${campaign}&contact=${contact}` : '';
      const leaving = new AbortController();
      const answer = await fetch(`${api.url}${path.replace(/:\w+|\*$/g, 'none')}${query}`, {
        ...{ headers: headersOf.viewer, redirect: 'manual', signal: leaving.signal },
      });
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
      const first = isStream ? await answer.body?.getReader().read() : undefined;
      const seen = first ? Buffer.from(first.value ?? []).toString() : await answer.text();
      leaving.abort();
      expect([url, seen.match(ADDRESS)]).toEqual([url, null]);
      if (isStream) streams += 1;
      if (answer.status === 200) answered.push(url);
    }
    expect(streams).toBeGreaterThan(0);
    expect(answered).toEqual(
      expect.arrayContaining([
        ...['/api/explain', '/api/overview', '/api/contact/:id/timeline'],
        ...['/api/campaign/:id/recipients', '/api/campaign/:id/recipients.csv', '/api/campaign/:id/outcomes'],
      ]),
    );
    expect(answered.length).toBeGreaterThan(25);
  });

  test('what is skipped is masked as well', async () => {
    for (const path of [`/api/campaign/${campaign}/skipped`, `/api/campaign/${campaign}/skipped.csv`]) {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(JSON.stringify(answer.body)).not.toMatch(ADDRESS);
    }
  });

  test('a person’s export is refused', async () => {
    const refused = await get(`/api/contact/${contact}/export`);
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
    expect((await get(`/api/contact/${contact}/export`, 'editor')).status).toBe(200);
  });

  test('a search by address finds nothing, nor one by how it begins', async () => {
    const encoded = [EMAIL, 'anna', 'a', PHONE, '+1202', '202', 'shop.example'].map(encodeURIComponent);
    for (const search of encoded) {
      for (const path of [
        `/api/contact?search=${search}`,
        `/api/campaign/${campaign}/recipients?search=${search}`,
        `/api/suppression?search=${search}`,
      ]) {
        const answer = await get(path);
        expect([path, answer.status, answer.body.data]).toEqual([path, 200, []]);
      }
      const csv = await get(`/api/campaign/${campaign}/recipients.csv?search=${search}`);
      expect(String(csv.body).trim().split('\n')).toHaveLength(1);
    }
    for (const search of [EMAIL, PHONE, 'shop.example'].map(encodeURIComponent)) {
      expect((await get(`/api/contact-list/${list}/contacts?search=${search}`)).body.data).toEqual([]);
    }
    const explained = `/api/explain?campaign=${campaign}&to=${encodeURIComponent(PHONE)}`;
    expect((await get(explained)).status).toBe(404);
    expect((await get(explained, 'editor')).status).toBe(200);
    expect((await get(`/api/contact?search=${encodeURIComponent(EMAIL)}`, 'editor')).body.data).toHaveLength(
      2,
    );
  });

  test('a search by what is no address finds a person still', async () => {
    for (const path of [
      '/api/contact?search=cust',
      `/api/campaign/${campaign}/recipients?search=cust-1`,
      `/api/contact-list/${list}/contacts?search=Anna`,
    ]) {
      expect([path, (await get(path)).body.data.length]).toEqual([path, 1]);
    }
  });

  test('an explanation is masked in its sentences', async () => {
    const path = `/api/explain?campaign=${campaign}&contact=${contact}`;
    expect(await text(path)).not.toMatch(ADDRESS);
    expect(await text(path, 'editor')).toMatch(ADDRESS);
  });

  test('the viewer’s own address, senders and templates stay', async () => {
    expect((await get('/api/session')).body.user.email).toBe('viewer@viewers.example');
    expect((await get(`/api/campaign/${campaign}`)).body.data.settings.sms.shortCode).toBe('+12025550100');
  });
});
