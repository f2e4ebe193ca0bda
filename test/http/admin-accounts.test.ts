import type { Kysely } from 'kysely';
import { LIMITS } from '../../src/domain/limits';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { type CallOptions, type HttpAnswer, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

const HTTP = {
  name: 'Second carrier',
  kind: 'http',
  channels: ['sms', 'voice'],
  settings: { url: 'https://carrier.example/send' },
  secrets: { headers: { authorization: 'Bearer s3cr3t-of-the-carrier' } },
};

describeWithDatabase('administration of accounts and routes', (database) => {
  let api: WholeApi;
  let db: Kysely<MessagingTables>;
  let owner: Record<string, string>;
  let admin: Record<string, string>;
  let otherWorkspace: string;
  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<MessagingTables>();
    api = await startWholeApi(storage);
    const first = await newWorkspace(api.identity);
    const second = await newWorkspace(api.identity);
    otherWorkspace = second.workspace.id;
    const cookie = async (user: typeof first.user) => ({
      cookie: `session_token=${(await api.identity.login({ ...user, address: 'tests' })).token}`,
    });
    owner = await cookie(first.user);
    admin = await cookie(second.user);
  });
  afterAll(() => api.stop());

  const call = (
    method: string,
    path: string,
    body?: unknown,
    options: CallOptions = {},
  ): Promise<HttpAnswer> =>
    api.call(method, `/api/admin${path}`, {
      ...options,
      headers: { ...(options.headers ?? owner) },
      ...(body === undefined ? {} : { body }),
    });
  const make = async (body: unknown = HTTP): Promise<string> =>
    (await call('POST', '/accounts', body)).body.data.id;
  const codes = ({ body }: HttpAnswer) =>
    body.errors.map((one: { path: string; code: string }) => `${one.path} ${one.code}`).sort();

  test('only an owner sees and changes accounts and routes', async () => {
    for (const [method, path] of [
      ['GET', '/accounts'],
      ['POST', '/accounts'],
      ['GET', '/accounts/default-sms'],
      ['PATCH', '/accounts/default-sms'],
      ['DELETE', '/accounts/default-sms'],
      ['POST', '/accounts/default-sms/check'],
      ['POST', '/accounts/default-sms/reopen'],
      ['GET', '/routes'],
      ['PUT', '/routes'],
    ] as const) {
      expect((await call(method, path, undefined, { headers: admin })).status).toBe(403);
      expect((await api.call(method, `/api/admin${path}`)).status).toBe(401);
    }
  });

  test('a sender that the carrier refuses is shown with the account, and an owner reopens it', async () => {
    const id = await make();
    const closed = {
      channel: 'sms' as const,
      sender: '+12025550100',
      code: '30034',
      message: 'Not registered',
    };
    await db
      .insertInto('account_senders')
      .values([
        { account_id: id, ...closed },
        { account_id: id, ...closed, channel: 'voice' },
        { account_id: 'default-sms', ...closed, sender: 'bookshop' },
      ])
      .execute();
    const shown = (await call('GET', `/accounts/${id}`)).body.data.closedSenders;
    expect(shown).toEqual([
      { ...closed, since: expect.any(String) },
      { ...closed, channel: 'voice', since: expect.any(String) },
    ]);
    const listed = (await call('GET', '/accounts')).body.data.find((one: { id: string }) => one.id === id);
    expect(listed.closedSenders).toEqual(shown);
    const reopen = (account: string, body?: unknown) => call('POST', `/accounts/${account}/reopen`, body);
    const one = await reopen(id, { channel: 'sms', sender: '+12025550100' });
    expect([one.status, one.body.data.closedSenders]).toEqual([200, [shown[1]]]);
    expect((await reopen(id, {})).body.data.closedSenders).toEqual([]);
    // Reopened again it stays open, and the environment's accounts have the same.
    expect((await reopen(id, {})).status).toBe(200);
    expect((await reopen('default-sms', { sender: 'Bookshop' })).body.data.closedSenders).toEqual([]);
    expect(codes(await reopen(id, { channel: 'fax', sender: '' }))).toEqual([
      'channel invalid_value',
      'sender too_small',
    ]);
    expect((await reopen('acc_unknown', {})).status).toBe(404);
  });

  test('an account is created, read, changed and deleted, and shows the names of its secrets alone', async () => {
    const created = await call('POST', '/accounts', { ...HTTP, ratePerSecond: 5 });
    expect(created.status).toBe(201);
    const { id } = created.body.data;
    expect(created.body.data).toMatchObject({
      ...{ name: HTTP.name, kind: 'http', channels: HTTP.channels, settings: HTTP.settings },
      ...{ secrets: ['headers'], workspaces: ['*'], ratePerSecond: 5, disabled: false },
      ...{ source: 'api', state: 'ok', since: expect.any(String) },
    });
    const changed = await call('PATCH', `/accounts/${id}`, {
      settings: { idempotent: true },
      ratePerSecond: null,
      disabled: true,
    });
    expect(changed.body.data).toMatchObject({
      settings: { ...HTTP.settings, idempotent: true },
      secrets: ['headers'],
      disabled: true,
    });
    expect(changed.body.data).not.toHaveProperty('ratePerSecond');
    const without = await call('PATCH', `/accounts/${id}`, { secrets: { headers: null } });
    expect(without.body.data.secrets).toEqual([]);
    expect((await call('GET', `/accounts/${id}`)).body.data).toEqual(without.body.data);
    expect((await call('DELETE', `/accounts/${id}`)).status).toBe(200);
    for (const method of ['GET', 'DELETE']) expect((await call(method, `/accounts/${id}`)).status).toBe(404);
    expect((await call('PATCH', `/accounts/${id}`, { name: 'Late' })).status).toBe(404);
    const all = [created, changed, without].map(({ body }) => JSON.stringify(body)).join();
    expect(all).not.toContain('s3cr3t');
  });

  test('a secret stands in the database only sealed, under its account’s id', async () => {
    const [one, two] = [await make(), await make()];
    const rows = await db.selectFrom('accounts').selectAll().where('id', 'in', [one, two]).execute();
    expect(JSON.stringify(rows)).not.toContain('s3cr3t');
    // Moved to another row it opens to nothing.
    const [first, second] = rows as [(typeof rows)[0], (typeof rows)[0]];
    await db.updateTable('accounts').set({ secrets: first.secrets }).where('id', '=', second.id).execute();
    expect((await call('PATCH', `/accounts/${second.id}`, { name: 'Moved' })).status).toBe(500);
  });

  test('the accounts of the environment are listed and cannot be changed', async () => {
    const { body } = await call('GET', '/accounts');
    expect(body.data.slice(0, 3)).toMatchObject([
      { id: 'default-email', source: 'environment', state: 'ok' },
      { id: 'default-sms', source: 'environment', state: 'ok' },
      { id: 'default-voice', source: 'environment', state: 'ok' },
    ]);
    for (const [method, change] of [
      ['PATCH', { disabled: true }],
      ['DELETE', undefined],
    ] as const) {
      const refused = await call(method, '/accounts/default-sms', change);
      expect([refused.status, refused.body.code]).toEqual([409, 'environment_account']);
    }
    expect((await call('POST', '/accounts/default-sms/check')).body.data).toMatchObject({ ok: true });
  });

  test('everything that is wrong with an account is told at once', async () => {
    const wrong = {
      name: '',
      kind: 'http',
      channels: ['sms', 'sms'],
      settings: { url: 'https://user:password@carrier.example/', unknown: 1 },
      secrets: { headers: { 'content-length': '5', 'x-key': 'two\nlines' } },
      workspaces: [],
      ratePerSecond: 0,
      extra: true,
    };
    const refused = await call('POST', '/accounts', wrong);
    expect(refused.status).toBe(422);
    expect(codes(refused)).toEqual(
      expect.arrayContaining([
        'channels repeated',
        'extra unknown_field',
        'name too_small',
        'ratePerSecond too_small',
        'settings.unknown unknown_field',
        'settings.url invalid_url',
      ]),
    );
    expect(JSON.stringify(refused.body)).not.toContain('password@');
    const unknown = await call('POST', '/accounts', { ...HTTP, workspaces: ['ws_nobodys', otherWorkspace] });
    expect(codes(unknown)).toEqual(['workspaces.0 not_found']);
    const both = { name: '', workspaces: [7, 'ws_nobodys', otherWorkspace] };
    const more = ['name too_small', 'workspaces invalid_union', 'workspaces.1 not_found'];
    expect(codes(await call('POST', '/accounts', { ...HTTP, ...both }))).toEqual(more);
    const { name: _, ...change } = { ...both, settings: { url: null } };
    expect(codes(await call('PATCH', `/accounts/${await make()}`, change))).toEqual(
      expect.arrayContaining(['settings.url required', 'workspaces.1 not_found']),
    );
    const all = { workspaces: ['*', otherWorkspace] };
    expect(codes(await call('POST', '/accounts', { ...HTTP, ...all }))).toEqual([
      'workspaces.0 not_applicable',
    ]);
    expect(codes(await call('PATCH', `/accounts/${await make()}`, all))).toEqual([
      'workspaces.0 not_applicable',
    ]);
    const kind = await call('POST', '/accounts', { ...HTTP, kind: 'pigeon' });
    expect(kind.status).toBe(422);
    const changed = await call('PATCH', `/accounts/${await make()}`, { settings: { url: 'ftp://x' } });
    expect(codes(changed)).toEqual(['settings.url invalid_url']);
    const many = await call('PATCH', `/accounts/${await make()}`, {
      ...{ name: 3, kind: 'smtp', ratePerSecond: -1, secrets: 'none' },
      settings: { url: null, unknown: 1 },
    });
    expect(codes(many).sort()).toEqual([
      'kind unknown_field',
      'name invalid_type',
      'ratePerSecond too_small',
      'secrets invalid_type',
      'settings.unknown unknown_field',
      'settings.url required',
    ]);
    expect(codes(await call('PATCH', `/accounts/${await make()}`, [1]))).toEqual([' invalid_type']);
  });

  test.each([
    ['smtp', { url: 'smtps://user:secret@relay.example:465' }],
    ['smpp', { url: 'smpp://id:secret@smsc.example:2775' }],
    ['kannel', { url: 'http://kannel.example:13013/cgi-bin/sendsms?username=a&password=secret' }],
    ['simulator', {}],
  ])('an account of kind %s has the channels and secrets of its kind', async (kind, secrets) => {
    const channels = kind === 'smtp' ? ['email'] : ['sms'];
    const made = await call('POST', '/accounts', { name: kind, kind, channels, secrets });
    expect(made.status).toBe(201);
    expect(made.body.data).toMatchObject({ channels, secrets: Object.keys(secrets), settings: {} });
    expect(JSON.stringify(made.body)).not.toContain('secret@');
    if (kind === 'simulator') return;
    const wrong = { name: kind, kind, channels: ['voice'], secrets: { url: 'nonsense' } };
    expect(codes(await call('POST', '/accounts', wrong))).toEqual([
      expect.stringMatching(/^channels/),
      'secrets.url invalid_format',
    ]);
  });

  test('an Idempotency-Key makes one account', async () => {
    const headers = { ...owner, 'idempotency-key': 'the-same-account' };
    const first = await call('POST', '/accounts', HTTP, { headers });
    const again = await call('POST', '/accounts', HTTP, { headers });
    expect(again.headers['idempotent-replay']).toBe('true');
    expect(again.body.data.id).toBe(first.body.data.id);
  });

  test('routes are read as they were put, with senders as they are compared', async () => {
    const id = await make();
    const routes = [
      { channel: 'sms', sender: 'SHOP', accounts: [{ account: id, weight: 2 }, { account: 'default-sms' }] },
      { channel: 'email', sender: 'News.Example', accounts: [{ account: 'default-email' }] },
      { channel: 'voice', workspace: otherWorkspace, class: 'transactional', accounts: [{ account: id }] },
    ];
    const put = await call('PUT', '/routes', { routes });
    expect(put.status).toBe(200);
    const [sms, email, voice] = (await call('GET', '/routes')).body.data.routes;
    expect(sms).toEqual({ ...routes[0], sender: 'shop' });
    expect(email).toEqual({ ...routes[1], sender: 'news.example' });
    expect(voice).toEqual(routes[2]);
    const refused = await call('DELETE', `/accounts/${id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'account_routed']);
    const patch = async (channels: string[]) => call('PATCH', `/accounts/${id}`, { channels });
    const narrower = await patch(['sms']);
    expect([narrower.status, narrower.body.code]).toEqual([409, 'account_routed']);
    expect((await call('GET', `/accounts/${id}`)).body.data.channels).toEqual(HTTP.channels);
    expect((await patch(['voice', 'sms'])).status).toBe(200);
    await call('PUT', '/routes', { routes: [routes[0]] });
    expect((await patch(['sms'])).status).toBe(200);
    await call('PUT', '/routes', { routes: [] });
    expect((await call('DELETE', `/accounts/${id}`)).status).toBe(200);
  });

  test('an account with messages under way is not deleted, nor an idempotent one led to another carrier', async () => {
    const id = await make();
    const batch = { id: 'bat_1', lane: 'lane_1', fence: 1, provider: `http:${id}`, message_ids: ['msg_1'] };
    await db
      .insertInto('dispatch_lanes')
      .values({ id: 'lane_1', owner: 'proc_1', fence: 1, lease_until: new Date(Date.now() + 60_000) })
      .execute();
    await db.insertInto('handover_batches').values(batch).execute();
    const refused = await call('DELETE', `/accounts/${id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'account_busy']);
    const settings = (more: object) => call('PATCH', `/accounts/${id}`, { settings: more });
    const other = { url: 'https://other.example/', idempotent: true };
    expect((await settings(other)).body.code).toBe('account_busy');
    expect((await settings({ idempotent: true })).status).toBe(200);
    expect((await settings({ idempotent: false })).body.code).toBe('account_busy');
    await db.deleteFrom('handover_batches').where('id', '=', 'bat_1').execute();
    expect((await settings(other)).status).toBe(200);
    expect((await call('DELETE', `/accounts/${id}`)).status).toBe(200);
  });

  test('an account with a call under way is not deleted, while the call may last', async () => {
    const id = await make();
    const placed = (secondsAgo: number) => new Date(Date.now() - secondsAgo * 1_000);
    await db
      .insertInto('vendor_calls')
      .values({
        message_id: 'msg_call',
        token: 'token',
        kind: 'twilio',
        account_id: id,
        provider: `twilio:${id}`,
        document: '',
        options: '{}',
        created_at: placed(LIMITS.callLeaseSeconds - 60),
        ended_at: null,
        withdrawn: null,
      })
      .execute();
    const refused = await call('DELETE', `/accounts/${id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'account_busy']);
    await db
      .updateTable('vendor_calls')
      .set({ created_at: placed(LIMITS.callLeaseSeconds + 1) })
      .execute();
    expect((await call('DELETE', `/accounts/${id}`)).status).toBe(200);
  });

  test('routes that name what is not there are refused with every finding', async () => {
    const id = await make();
    const refused = await call('PUT', '/routes', {
      routes: [
        { channel: 'sms', accounts: [{ account: 'acc_nobodys' }] },
        { channel: 'email', accounts: [{ account: id }] },
        { channel: 'sms', workspace: 'ws_nobodys', accounts: [{ account: id }] },
      ],
    });
    expect(codes(refused)).toEqual([
      'routes.0.accounts.0.account not_found',
      'routes.1.accounts.0.account not_applicable',
      'routes.2.workspace not_found',
    ]);
    const malformed = await call('PUT', '/routes', {
      routes: [
        { channel: 'pigeon', accounts: [{ account: id }] },
        { channel: 'email', toPrefix: '+44', accounts: [{ account: 'default-email' }] },
        { channel: 'sms', toPrefix: '44', sender: '!', accounts: [] },
        { channel: 'sms', accounts: [{ account: id }, { account: id }], colour: 'red' },
        { channel: 'sms', workspace: 'ws_nobodys', accounts: [{ account: 'acc_nobodys', weight: -1 }] },
        { channel: 'sms', accounts: [{ account: id, weight: 0 }] },
        'no route',
      ],
    });
    expect(codes(malformed)).toEqual([
      'routes.0.channel invalid_value',
      'routes.1.toPrefix not_applicable',
      'routes.2.accounts too_small',
      'routes.2.sender invalid_sender',
      'routes.2.toPrefix invalid_format',
      'routes.3.accounts repeated',
      'routes.3.colour unknown_field',
      'routes.4.accounts.0.account not_found',
      'routes.4.accounts.0.weight too_small',
      'routes.4.workspace not_found',
      'routes.5.accounts invalid_value',
      'routes.6 invalid_type',
    ]);
    expect((await call('GET', '/routes')).body.data.routes).toEqual([]);
  });
});
