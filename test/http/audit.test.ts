import { createHash } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { canonicalJson } from '../../src/audit/canonical-json';
import type { AuditEntry } from '../../src/audit/entry';
import type { AuditTables } from '../../src/audit/tables';
import type { NewWorkspace } from '../../src/messaging/access/workspaces';
import type { Storage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { basic, bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

describeWithDatabase('the audit log', (database) => {
  let storage: Storage;
  let db: Kysely<AuditTables>;
  let api: WholeApi;
  let owner: NewWorkspace;
  let session: Record<string, string>;
  let bearer: Record<string, string>;
  beforeEach(async () => {
    storage = await database.open();
    db = storage.tables<AuditTables>();
    api = await startWholeApi(storage);
    owner = await newWorkspace(api.identity);
    const { token } = await api.identity.login({ ...owner.user, address: 'tests' });
    session = { cookie: `session_token=${token}`, 'x-user-id': owner.user.id };
    bearer = { authorization: await bearerFor(api.identity, owner) };
  });
  afterEach(() => api.stop());

  async function read(query = ''): Promise<AuditEntry[]> {
    const { status, body } = await api.call('GET', `/api/admin/audit?${query}`, { headers: session });
    expect(status).toBe(200);
    return body.data;
  }
  const actions = async (query = '') => (await read(query)).map(({ action }) => action);
  const makeList = (name: string, headers = session) =>
    api.call('POST', '/api/contact-list', { headers, body: { name } });

  test('a change is told with who asked, from where and for what, and hashes as documented', async () => {
    const headers = { ...bearer, 'x-user-id': owner.user.id, 'x-request-id': 'order-17' };
    const made = await makeList('Readers', headers);
    const [entry] = (await read()) as [AuditEntry];
    expect(entry).toMatchObject({
      actor: { kind: 'client', id: owner.client.id },
      address: '127.0.0.1',
      requestId: 'order-17',
      action: 'contact-list.create',
      object: { kind: 'contact-list', id: made.body.data.id },
      result: 'ok',
    });
    const { hash, ...said } = entry;
    expect(
      createHash('sha256')
        .update(canonicalJson(said as never))
        .digest('hex'),
    ).toBe(hash);
    const { body } = await api.call('GET', '/api/admin/audit/chain', { headers: session });
    expect(body.data).toEqual({ written: (await read()).length, last: hash, start: null });
  });

  test('it is read by pages in either order, and by actor, action, object and time', async () => {
    const lists = [];
    for (const name of ['One', 'Two', 'Three']) lists.push((await makeList(name)).body.data.id);
    await makeList('Four', bearer);
    const all = await read('order=oldest');
    const pages: AuditEntry[] = [];
    let cursor = '';
    do {
      const page = await api.call('GET', `/api/admin/audit?limit=2${cursor}`, { headers: session });
      pages.push(...page.body.data);
      cursor = page.body.next === null ? '' : `&cursor=${page.body.next}`;
    } while (cursor);
    expect(pages).toEqual([...all].reverse());

    expect(await actions(`object=${lists[1]}`)).toEqual(['contact-list.create']);
    expect(await read('object=contact-list')).toHaveLength(4);
    expect(await read(`action=contact-list.create&actor=${owner.user.id}`)).toHaveLength(3);
    expect(await read('actor=client&action=contact-list.create')).toHaveLength(1);
    const { at } = all.at(-1) as AuditEntry;
    expect(await read(`from=${at}&to=${at}`)).toContainEqual(all.at(-1));
    expect(await read('from=2100-01-01T00:00:00+01:00')).toEqual([]);
    for (const wrong of ['limit=101', 'cursor=x', 'order=up', 'from=yesterday', 'kind=user']) {
      const refused = await api.call('GET', `/api/admin/audit?${wrong}`, { headers: session });
      expect([wrong, refused.status]).toEqual([wrong, 422]);
    }
  });

  test('another workspace has a chain of its own, and a client reads neither', async () => {
    await makeList('Readers');
    const other = await newWorkspace(api.identity);
    const { token } = await api.identity.login({ ...other.user, address: 'tests' });
    const headers = { cookie: `session_token=${token}` };
    const { body } = await api.call('GET', '/api/admin/audit', { headers });
    expect(body.data.map(({ action, prev }: AuditEntry) => [action, prev])).toEqual([
      ['session.login', null],
    ]);
    expect((await api.call('GET', '/api/admin/audit', { headers: bearer })).status).toBe(401);
  });

  test('a call that changes nothing is not told, nor is one that is invalid or about nothing', async () => {
    const before = await read();
    await api.call('DELETE', '/api/contact-list/lst_none', { headers: session });
    await makeList('');
    await api.call('DELETE', '/api/stop', { headers: session });
    expect(await read()).toEqual(before);
  });

  test('an Idempotency-Key makes a change of none, and takes none away', async () => {
    const call = (path: string, body: object | undefined, key: string) =>
      api.call('POST', path, { headers: { ...session, 'idempotency-key': key }, body });
    const { body: list } = await makeList('Readers');
    const text = { templateName: 'Open', channel: 'sms', body: 'We are open' };
    const { body: made } = await call('/api/template/', text, 'template');
    const sms = { shortCode: '12345', templateId: made.template.id, version: 1 };
    const draft = {
      campaignId: null,
      name: 'Open',
      channel: ['sms'],
      contactListId: [list.data.id],
      start: false,
    };
    const { body } = await call('/api/campaign', { ...draft, settings: { sms } }, 'campaign');
    const cancel = `/api/campaign/${body.data.id}/cancel`;
    for (const key of ['first', 'second']) expect((await call(cancel, undefined, key)).status).toBe(200);
    expect(await actions('action=campaign.cancel')).toHaveLength(1);
  });

  test('an entry that cannot be written takes its change back, and a change that fails its entry', async () => {
    await sql`alter table audit_entries add constraint refused check (action <> 'contact-list.create') not valid`.execute(
      db,
    );
    expect((await makeList('Never')).status).toBe(500);
    await sql`alter table audit_entries drop constraint refused`.execute(db);
    const lists = await api.call('GET', '/api/contact-list', { headers: session });
    expect(lists.body.data).toEqual([]);

    await sql`alter table contact_lists add constraint refused check (name <> 'Never') not valid`.execute(db);
    expect((await makeList('Never')).status).toBe(500);
    const told = await read('action=contact-list.create');
    // Of the first, not even its failure could be written.
    expect(told.map(({ result, detail }) => [result, detail.status])).toEqual([['failed', 500]]);
  });

  test('calls that are refused to known callers are told, repetitions with their count', async () => {
    const { token } = await api.identity.login({ ...owner.user, address: 'tests' });
    const mismatched = { cookie: `session_token=${token}`, 'x-user-id': 'usr_another' };
    for (let i = 0; i < 4; i++) await api.call('POST', '/api/campaign', { headers: mismatched, body: {} });
    await api.call('GET', '/api/campaign?page=1&limit=1&channel=sms', { headers: mismatched });
    // The key is good, the token is not.
    const headers = { 'x-api-key': owner.apiKey, authorization: 'Bearer nothing' };
    await api.call('PUT', '/holds/spring-sale', { headers });
    await api.call('PUT', '/holds/spring-sale', { headers: { authorization: 'Bearer nothing' } });
    const refused = (await read('order=oldest')).filter(({ result }) => result === 'refused');
    expect(refused.map(({ actor, action, object, detail }) => [actor.kind, action, object, detail])).toEqual([
      ['user', 'campaign.create', { kind: 'campaign', id: null }, { status: 403, count: 1 }],
      ['user', 'access.refused', { kind: 'operation', id: 'listCampaigns' }, { status: 403, count: 1 }],
      ['key', 'hold.put', { kind: 'hold', id: 'spring-sale' }, { status: 401, count: 1 }],
    ]);
    const { body: keys } = await api.call('GET', '/api/admin/api-keys', { headers: session });
    expect(refused.map(({ actor }) => actor.id)).toEqual([owner.user.id, owner.user.id, keys.data[0].id]);
    await api.stop();
    const { rows } =
      await sql`select detail->'count' as count from audit_entries order by seq desc limit 1`.execute(db);
    expect(rows).toEqual([{ count: 3 }]);
  });

  test('what stands in place of an id may be an address, which is not kept', async () => {
    const headers = { 'x-api-key': owner.apiKey, authorization: 'Bearer nothing' };
    await api.call('PUT', '/holds/ada%40example.com', { headers });
    await api.call('DELETE', '/holds/%2B12025550123', { headers });
    const refused = (await read('order=oldest')).filter(({ result }) => result === 'refused');
    expect(refused.map(({ action, object }) => [action, object])).toEqual([
      ['hold.put', { kind: 'hold', id: null }],
      ['hold.release', { kind: 'hold', id: null }],
    ]);
  });

  test('log-ins of users and clients are told, right and wrong', async () => {
    await api.call('POST', '/api/session', { body: { email: owner.user.email, password: 'wrong' } });
    const token = (secret: string) =>
      api.call('POST', '/api/v1/auth/token', {
        headers: { authorization: basic(owner.client.id, secret) },
        body: { grant_type: 'client_credentials' },
      });
    await token('wrong');
    await token(owner.client.secret);
    await until('all are written', async () => (await read('actor=client')).length >= 2);
    await until('the log-in is written', async () => (await read('action=session.login')).length === 2);
    const told = await read('order=oldest');
    expect(told.map(({ action, result, actor }) => [action, result, actor.id])).toEqual(
      expect.arrayContaining([
        ['session.login', 'ok', owner.user.id],
        ['session.login', 'refused', owner.user.id],
        ['token.issue', 'ok', owner.client.id],
        ['token.issue', 'refused', owner.client.id],
      ]),
    );
  });

  test('log-ins of a user who was disabled are told as refused, by password and by an OpenID provider', async () => {
    const admin = { workspaceId: owner.workspace.id, role: 'owner' } as const;
    const given = { email: 'left@example.com', role: 'sender' } as const;
    const { user, password } = await api.identity.users.create(admin, given);
    await api.identity.users.disable(admin, user.id);
    const answer = await api.call('POST', '/api/session', { body: { email: given.email, password } });
    expect([answer.status, answer.body.code]).toEqual([401, 'unauthenticated']);
    const origin = { address: '192.0.2.1', userAgent: null, requestId: null };
    expect(await api.identity.loginByProvider(given.email, origin)).toBeUndefined();
    const byUser = `action=session.login&actor=${user.id}`;
    await until('both are written', async () => (await read(byUser)).length === 2);
    // In either order, because the answer to a password does not wait for its entry.
    expect((await read(byUser)).map(({ result, detail }) => [result, detail])).toEqual(
      expect.arrayContaining([
        ['refused', { disabled: true, count: 1 }],
        ['refused', { disabled: true, by: 'oidc', count: 1 }],
      ]),
    );
  });

  test('sending writes nothing, and nothing holds an address or a secret', async () => {
    const before = (await read()).length;
    const headers = { ...bearer, 'x-api-key': owner.apiKey };
    const message = {
      channel: 'sms',
      uid: 'u1',
      to: '+12025550123',
      from: '12345',
      'template-id': 'tpl_none',
    };
    await api.call('POST', '/send-msg', { headers, body: message });
    expect((await read()).length).toBe(before);
    const address = 'reader@example.com';
    const suppress = { channel: 'email', address, reason: 'asked' };
    await api.call('POST', '/api/suppression', { headers: session, body: suppress });
    const lift = `/api/suppression?channel=email&address=${address}`;
    await api.call('DELETE', lift, { headers: session });
    const user = { email: 'grace@example.com', password: 'a-kettle-on-the-blue-stove' };
    await api.call('POST', '/api/admin/users', { headers: session, body: user });
    const text = JSON.stringify(await read());
    expect(text).toContain('user.create');
    for (const secret of [address, user.email, user.password, owner.apiKey])
      expect(text).not.toContain(secret);
  });
});
