import type { Kysely } from 'kysely';
import { contactActivity } from '../../src/app/between-halves';
import { suppressErased } from '../../src/app/erasures';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import { createContactTimeline } from '../../src/campaigns/contacts/contact-timeline';
import { createContacts } from '../../src/campaigns/contacts/contacts-api';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { LIMITS } from '../../src/domain/limits';
import { contactRoutes } from '../../src/http/contacts';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { upsertSuppressions } from '../../src/messaging/suppression/suppression-rows';
import { plantRun } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { startServer, type TestServer } from './campaigns-server';

/** Contacts are found by how their identifiers begin, read, changed and exported, each in its workspace alone. */
describeWithDatabase('contacts over HTTP', (database) => {
  let db: Kysely<CampaignTables>;
  let messaging: Kysely<MessagingTables>;
  let server: TestServer;
  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<CampaignTables>();
    messaging = storage.tables<MessagingTables>();
    const activity = contactActivity(messaging);
    const timeline = createContactTimeline({ db, activity });
    const contacts = createContacts({ db, timeline, activity, suppressErased });
    server = await startServer(db, [(scope) => contactRoutes(scope, { contacts })]);
  });
  afterAll(() => server.close());

  const PEOPLE = [
    { externalId: 'Cust-1', name: 'Ada', email: 'Ada@Example.com', phone: '+12025550123' },
    { externalId: 'cust-10', name: 'Grace', email: 'grace@example.com' },
    { email: 'adam@example.com', params: { CITY: 'London', AGE: 40 } },
    { phone: '+12025550199' },
    { externalId: '50%_off', email: 'per%cent@example.com' },
    { externalId: 'ÜBER-1', phone: '+493012345678' },
  ];

  async function imported(as: string, contacts: object[] = PEOPLE): Promise<string> {
    const { body } = await server.call('POST', '/api/contact-list', { name: 'People' }, { as });
    const path = `/api/contact-list/${body.data.id}/contacts`;
    expect((await server.call('POST', path, { contacts }, { as })).body.data.rejected).toBe(0);
    return body.data.id;
  }
  const find = async (as: string, search: string, more = '') =>
    server.call('GET', `/api/contact?search=${encodeURIComponent(search)}${more}`, undefined, { as });
  const keysOf = async (as: string, search: string) =>
    (await find(as, search)).body.data.map(
      (one: { externalId: string; email: string; phone: string }) => one.externalId ?? one.email ?? one.phone,
    );

  test.each([
    ['cust-1', ['Cust-1', 'cust-10']],
    ['CUST-10', ['cust-10']],
    ['ada', ['Cust-1', 'adam@example.com']],
    ['ADA@example.com', ['Cust-1']],
    ['+1 (202) 555-01', ['Cust-1', '+12025550199']],
    ['0012025550199', ['+12025550199']],
    ['50%', ['50%_off']],
    ['per%c', ['50%_off']],
    ['_', []],
    ['example.com', []],
    ['ÜBER-1', ['ÜBER-1']],
    ['über', ['ÜBER-1']],
  ])('a search for %s finds what begins so, whatever its case', async (search, expected) => {
    const as = `ws_find_${Buffer.from(search).toString('hex')}`;
    await imported(as);
    await imported('ws_find_other');
    expect((await keysOf(as, search)).sort()).toEqual([...expected].sort());
  });

  test('a page begins after the cursor of the one before, and lists every contact once', async () => {
    await imported('ws_pages');
    const seen: string[] = [];
    let next: string | null = '';
    while (next !== null) {
      const path: string = `/api/contact?limit=2${next && `&cursor=${next}`}`;
      const { body } = await server.call('GET', path, undefined, { as: 'ws_pages' });
      expect(body.data.length).toBeLessThanOrEqual(2);
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      next = body.next;
    }
    expect(seen).toHaveLength(PEOPLE.length);
    expect([...seen].sort()).toEqual(seen);
    expect((await server.call('GET', '/api/contact?cursor=x')).status).toBe(422);
  });

  test('more contacts than are read one by one are found in the same order, page by page', async () => {
    const count = LIMITS.searchedByIdMax + 500;
    const many = Array.from({ length: count }, (_, i) => ({
      externalId: `many-${i}`,
      email: `m${i}@example.com`,
    }));
    await imported('ws_many', [...many, { externalId: 'other', email: 'other@example.com' }]);
    const first = await find('ws_many', 'MANY-', '&limit=1000');
    expect(first.body.data).toHaveLength(1_000);
    let { next } = first.body;
    let total = 1_000;
    while (next) {
      const { body } = await find('ws_many', 'many-', `&limit=1000&cursor=${next}`);
      total += body.data.length;
      next = body.next;
    }
    expect(total).toBe(count);
  });

  test('a field is replaced, cleared by null, or kept, and params are replaced as a whole', async () => {
    await imported('ws_change');
    const [adam] = (await find('ws_change', 'adam')).body.data;
    const path = `/api/contact/${adam.id}`;
    const as = { as: 'ws_change' };
    const change = { name: 'Adam', phone: '+44 20 7946 0958', params: { CITY: 'Paris' } };
    const changed = await server.call('PATCH', path, change, as);
    expect(changed.status).toBe(200);
    expect(changed.body.data).toMatchObject({
      ...{ id: adam.id, name: 'Adam', email: 'adam@example.com', phone: '+442079460958' },
      params: { CITY: 'Paris' },
    });
    await server.call('PATCH', path, { name: null, email: null }, as);
    const { body } = await server.call('GET', path, undefined, as);
    expect(body.data).toMatchObject({ name: null, email: null, phone: '+442079460958' });
    // It is known by its number now, so that an import of the number finds it.
    const list = await imported('ws_change', [{ phone: '+442079460958', name: 'Again' }]);
    const members = await server.call('GET', `/api/contact-list/${list}/contacts`, undefined, as);
    expect(members.body.data.map(({ id }: { id: string }) => id)).toEqual([adam.id]);
  });

  test('a contact with more params than one import brings is changed, and its params stay', async () => {
    const as = 'ws_many_params';
    const named = (letter: string) =>
      Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`${letter}_${i}`, `${i}`]));
    await imported(as, [{ externalId: 'c-1', email: 'ada@example.com', params: named('A') }]);
    await imported(as, [{ externalId: 'c-1', email: 'ada@example.com', params: named('B') }]);
    const [{ id }] = (await find(as, 'c-1')).body.data;
    const change = async (body: object) => server.call('PATCH', `/api/contact/${id}`, body, { as });
    const { status, body } = await change({ name: 'Ada' });
    expect([status, body.data?.name, Object.keys(body.data?.params ?? {}).length]).toEqual([200, 'Ada', 120]);
    expect((await change({ params: { ...named('A'), ...named('B') } })).body.errors).toMatchObject([
      { path: 'params', code: 'too_many' },
    ]);
    expect((await change({ params: null })).body.data.params).toEqual({});
  });

  test('an identity that another contact has is refused, and so is what an import would refuse', async () => {
    await imported('ws_refuse');
    const as = { as: 'ws_refuse' };
    const [adam] = (await find('ws_refuse', 'adam')).body.data;
    const path = `/api/contact/${adam.id}`;
    const taken = await server.call('PATCH', path, { externalId: 'cust-10' }, as);
    expect([taken.status, taken.body.code]).toEqual([409, 'contact_exists']);
    const wrong = await server.call('PATCH', path, { email: 'nonsense', locale: '!', shoe: 44 }, as);
    expect([wrong.status, wrong.body.code]).toEqual([422, 'invalid_request']);
    expect(wrong.body.errors.map((one) => [one.path, one.code]).sort()).toEqual([
      ['email', 'invalid_email'],
      ['locale', 'invalid_locale'],
      ['shoe', 'unknown_field'],
    ]);
    const nowhere = await server.call('PATCH', path, { email: null }, as);
    expect(nowhere.body.errors).toMatchObject([{ code: 'no_address' }]);
    expect((await server.call('GET', path, undefined, as)).body.data.email).toBe('adam@example.com');
  });

  test('a contact of another workspace is not found, changed or exported', async () => {
    await imported('ws_mine');
    const [adam] = (await find('ws_mine', 'adam')).body.data;
    for (const [method, path, body] of [
      ['GET', `/api/contact/${adam.id}`, undefined],
      ['PATCH', `/api/contact/${adam.id}`, { name: 'Eve' }],
      ['GET', `/api/contact/${adam.id}/export`, undefined],
    ] as const) {
      const answer = await server.call(method, path, body, { as: 'ws_theirs' });
      expect([method, answer.status, answer.body.code]).toEqual([method, 404, 'not_found']);
    }
    expect(await keysOf('ws_theirs', 'adam')).toEqual([]);
  });

  test('an export has the contact, its lists and its timeline as one JSON document', async () => {
    const list = await imported('ws_export');
    const [adam] = (await find('ws_export', 'adam')).body.data;
    await db
      .insertInto('contact_uses')
      .values({
        workspace_id: 'ws_export',
        address: 'adam@example.com',
        uids: ['u-1', 'u-2'],
        channels: ['email', 'email'],
        used_at: ['2026-11-20T10:00:00Z', '2026-11-21T10:00:00Z'],
        last_at: '2026-11-21T10:00:00Z',
      })
      .execute();
    const { status, body } = await server.call('GET', `/api/contact/${adam.id}/export`, undefined, {
      as: 'ws_export',
    });
    expect(status).toBe(200);
    expect(body.data.contact).toEqual(adam);
    expect(body.data.lists).toMatchObject([{ id: list, name: 'People' }]);
    expect(body.data.entries).toMatchObject([
      { kind: 'cap_place', uid: 'u-2', at: '2026-11-21T10:00:00.000Z' },
      { kind: 'cap_place', uid: 'u-1' },
    ]);
    expect(body.data.messages).toEqual([]);
  });

  /** A contact who is a recipient of a run, and whose number was suppressed then. */
  async function sentTo(as: string): Promise<{ id: string; list: string }> {
    const { runId } = await plantRun(db, { contacts: 0, workspaceId: as });
    const list = await imported(as, [{ externalId: 'c-1', name: 'Ada', phone: '+12025550123' }]);
    const [ada] = (await find(as, 'c-1')).body.data;
    await freezeAudience(db, {
      ...{ runId, workspaceId: as, channel: 'sms', contactListIds: [list], placeholders: ['NAME'] },
      campaignParams: {},
    });
    const block = { channel: 'sms' as const, address: '+12025550123', reason: 'asked', sender: undefined };
    await upsertSuppressions(messaging, as, [block], 'api');
    return { id: ada.id, list };
  }

  test('of a person whose contact went with its last list, an export has what is held by the id of their recipients', async () => {
    const as = 'ws_removed';
    const { id, list } = await sentTo(as);
    await server.call('DELETE', `/api/contact-list/${list}/contacts/${id}`, undefined, { as });
    expect((await server.call('GET', `/api/contact/${id}`, undefined, { as })).status).toBe(404);

    const path = `/api/contact/${id}/export`;
    const { status, body } = await server.call('GET', path, undefined, { as });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ contact: null, lists: [], audiences: [], messages: [] });
    expect(body.data.entries).toMatchObject([
      { kind: 'suppression', reason: 'asked' },
      { kind: 'recipient', address: '+12025550123', values: { NAME: 'Ada' } },
    ]);
    expect((await server.call('GET', path, undefined, { as: 'ws_theirs' })).status).toBe(404);
    expect((await server.call('GET', '/api/contact/con_unknown/export', undefined, { as })).status).toBe(404);
  });

  test('an export has what is held of an address that the contact had when it was sent to', async () => {
    const as = 'ws_moved';
    const { id } = await sentTo(as);
    await server.call('PATCH', `/api/contact/${id}`, { phone: '+12025550124' }, { as });

    const { body } = await server.call('GET', `/api/contact/${id}/export`, undefined, { as });
    expect(body.data.contact).toMatchObject({ phone: '+12025550124' });
    expect(body.data.entries.map(({ kind }: { kind: string }) => kind)).toEqual(['suppression', 'recipient']);
  });
});
