/** Proves how messages are accepted, alone and in bulk, and followed. */

import { sql } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { createStops } from '../../src/campaigns/stops/stops';
import { eventRoutes } from '../../src/http/events';
import { holdRoutes } from '../../src/http/holds';
import { messageRoutes } from '../../src/http/messages';
import { sendRoutes } from '../../src/http/send';
import { createLog } from '../../src/log';
import { addTemplate, createOutboxRig, type OutboxRig, type TestProcess } from '../messaging/outbox-rig';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { startService, type TestService } from './service';

describeWithDatabase('sending over HTTP', (database) => {
  let rig: OutboxRig;
  let one: TestProcess;
  let service: TestService;
  let template: string;
  beforeAll(async () => {
    const storage = await database.open();
    rig = await createOutboxRig(storage);
    one = await rig.process();
    const { delivery } = one;
    const db = storage.tables<CampaignTables>();
    const stops = createStops({ db, changed: delivery.stopsChanged, log: createLog('silent') });
    const routes = [
      ...[sendRoutes, eventRoutes, holdRoutes].map((add) => add(delivery)),
      messageRoutes(delivery, stops),
    ];
    service = await startService(rig.db, { routes });
    const workspaceId = service.workspace.workspace.id;
    template = await addTemplate(rig.db, workspaceId, { channel: 'sms', body: 'Hello {{NAME}} {{N}}' });
  });
  afterAll(async () => {
    await service.app.close();
    await rig.stop();
  });

  const call = (method: string, path: string, body?: unknown) =>
    service.call(method, path, {
      headers: { authorization: service.bearer, 'x-api-key': service.workspace.apiKey },
      ...(body === undefined ? {} : { body }),
    });
  const sms = (uid: string, more: Record<string, unknown> = {}) => ({
    channel: 'sms',
    uid,
    to: '+1 202 555 0123',
    from: '12345',
    'template-id': template,
    params: { NAME: 'Ada', N: 7 },
    ...more,
  });

  test('the message of the specification is accepted, and a repetition returns its present state', async () => {
    const first = await call('POST', '/send-msg', sms('m1'));
    expect(first).toMatchObject({
      status: 202,
      body: {
        result: 'success',
        status: 202,
        data: {
          uid: 'm1',
          channel: 'sms',
          to: '+12025550123',
          state: 'accepted',
          segments: 1,
          duplicate: false,
        },
      },
    });
    await until('it is sent', () => one.sms.uids().includes('m1'));
    expect(one.sms.taken.find((message) => message.uid === 'm1')?.text).toBe('Hello Ada 7');
    const again = await call('POST', '/send-msg', sms('m1'));
    expect(again).toMatchObject({ status: 200, body: { data: { id: first.body.data.id, duplicate: true } } });
    const other = await call('POST', '/send-msg', sms('m1', { params: { NAME: 'Bob', N: 7 } }));
    expect(other).toMatchObject({ status: 409, body: { code: 'uid_conflict', result: 'error' } });
  });

  test('all problems of a message are reported at once', async () => {
    const wrong = await call('POST', '/send-msg', {
      channel: 'sms',
      uid: 'a b',
      to: 'x',
      from: '1',
      version: 1.5,
      sendAt: 'soon',
      expiresAt: 12,
      class: 'x',
      replyTo: 'x',
      params: { N: null, lower: 'x' },
    });
    expect(wrong.status).toBe(422);
    const paths = wrong.body.errors.map((error: { path: string }) => error.path).sort();
    expect(paths).toEqual([
      'class',
      'expiresAt',
      'from',
      'params.N',
      'params.lower',
      'replyTo',
      'sendAt',
      'template-id',
      'to',
      'uid',
      'version',
    ]);
    const missing = await call('POST', '/send-msg', sms('m2', { params: { NAME: 'x' } }));
    expect(missing).toMatchObject({
      status: 422,
      body: { code: 'missing_params', errors: [{ path: 'params.N' }] },
    });
    const unknown = await call('POST', '/send-msg', sms('m2', { 'template-id': 'nope' }));
    expect(unknown).toMatchObject({ status: 422, body: { code: 'template_not_found' } });
    const both = await call('POST', '/send-msg', sms('m2', { 'template-id': 'nope', to: 'x' }));
    expect(both.body.errors).toMatchObject([
      { path: 'to', code: 'invalid_address' },
      { path: 'template-id', code: 'not_found' },
    ]);
    const many = await call('POST', '/send-msg/bulk', {
      messages: [sms('m2', { 'template-id': 'nope', to: 'x' }), sms('m2', { version: 9, from: '' }), 7],
    });
    expect(
      many.body.data.results.map(({ errors }: { errors: { path: string }[] }) =>
        errors.map((one) => one.path),
      ),
    ).toEqual([['to', 'template-id'], ['from', 'template-id'], ['']]);
    expect((await call('GET', '/messages/m2')).status).toBe(404);
  });

  test('neither a key nor a token alone may send', async () => {
    const post = (headers: Record<string, string>) =>
      service.call('POST', '/send-msg', { headers, body: sms('m3') });
    expect((await post({ authorization: service.bearer })).status).toBe(401);
    expect((await post({ 'x-api-key': service.workspace.apiKey })).status).toBe(401);
  });

  test('in bulk each message is judged alone and answered in its place', async () => {
    const answer = await call('POST', '/send-msg/bulk', {
      messages: [sms('b1'), sms('b2', { to: 'x' }), 7, sms('b1'), sms('b3', { params: {} }), sms('b4')],
    });
    expect(answer.status).toBe(207);
    expect(answer.body.data.results).toMatchObject([
      { uid: 'b1', status: 202, state: 'accepted', duplicate: false },
      { uid: 'b2', status: 422, code: 'invalid_request', errors: [{ path: 'to' }] },
      { uid: null, status: 422, code: 'invalid_request' },
      { uid: 'b1', status: 200, duplicate: true },
      { uid: 'b3', status: 422, code: 'missing_params' },
      { uid: 'b4', status: 202 },
    ]);
    expect((await call('POST', '/send-msg/bulk', { messages: [] })).status).toBe(422);
    expect((await call('POST', '/send-msg/bulk', [sms('b5')])).status).toBe(422);
    const many = Array.from({ length: 1_001 }, (_, i) => sms(`n${i}`));
    expect((await call('POST', '/send-msg/bulk', { messages: many })).status).toBe(422);
    const more = await call('POST', '/send-msg/bulk', { messages: [sms('b6')], campaign: 'c' });
    expect([more.status, more.body.errors]).toMatchObject([
      422,
      [{ path: 'campaign', code: 'unknown_field' }],
    ]);
  });

  test('in bulk, text that no database keeps refuses the message that has it, and no other', async () => {
    const messages = [sms('c1'), sms('c2', { params: { NAME: 'half \ud83d' } }), sms('c\0'), sms('c3')];
    const answer = await call('POST', '/send-msg/bulk', { messages });
    expect([answer.status, answer.body.data?.results]).toMatchObject([
      207,
      [
        { status: 202 },
        { status: 422, errors: [{ path: 'params.NAME', code: 'invalid_text' }] },
        { status: 422, errors: [{ path: 'uid' }, { path: 'uid' }] },
        { status: 202 },
      ],
    ]);
    const around = await call('POST', '/send-msg/bulk', { messages: [sms('c4')], '\0': 1 });
    expect([around.status, around.body.errors[0].code]).toEqual([422, 'invalid_text']);
  });

  test('in bulk a template that cannot be read is the trouble of its messages alone', async () => {
    const { id } = service.workspace.workspace;
    const unread = await addTemplate(rig.db, id, { channel: 'sms', body: 'Read for the first time' });
    const rename = (from: string, to: string) =>
      sql.raw(`alter table ${from} rename to ${to}`).execute(rig.db);
    const mail = { channel: 'email', uid: 'own', to: 'ada@example.com', from: 'us@example.com' };
    const messages = [sms('u1', { 'template-id': unread }), { ...mail, subject: 'Hi', body: '<p>Hi</p>' }];
    await rename('template_versions', 'template_versions_away');
    const answer = await call('POST', '/send-msg/bulk', { messages }).finally(() =>
      rename('template_versions_away', 'template_versions'),
    );
    expect([answer.status, answer.body.data?.results]).toMatchObject([
      207,
      [
        { uid: 'u1', status: 503, code: 'dependency_down', retryAfterSeconds: expect.any(Number) },
        { uid: 'own', status: 202 },
      ],
    ]);
    expect(await call('POST', '/send-msg', messages[0])).toMatchObject({ status: 202 });
  });

  test('messages are tracked, listed by cursor, and canceled before their time', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const tags = { campaign: 'tracked', sendAt };
    for (const uid of ['t1', 't2', 't/3']) await call('POST', '/send-msg', sms(uid, tags));
    const tracked = await call('GET', `/messages/${encodeURIComponent('t/3')}`);
    expect(tracked.body.data).toMatchObject({
      uid: 't/3',
      state: 'scheduled',
      campaign: 'tracked',
      sendAt,
      'template-id': template,
      version: 1,
      events: [{ type: 'scheduled', state: 'scheduled', uid: 't/3' }],
    });
    const first = await call('GET', '/messages?campaign=tracked&state=scheduled&limit=2');
    expect(first.body.data.map((one: { uid: string }) => one.uid)).toHaveLength(2);
    const second = await call('GET', `/messages?campaign=tracked&limit=2&cursor=${first.body.next}`);
    expect((await call('GET', '/messages?cursor=x')).body.errors).toMatchObject([{ path: 'cursor' }]);
    expect(second.body).toMatchObject({ data: [{}], next: null });
    const by = async (query: string) =>
      (await call('GET', `/messages?campaign=tracked&${query}`)).body.data.length;
    expect(await by('to=%2B12025550123')).toBe(3);
    expect(await by('to=+12025550123&from=12345')).toBe(3);
    expect(await by('to=%2B1%20(202)%20555-0123&from=123-45')).toBe(3);
    expect(await by('from=2020-01-01&to=2021-01-01T00:00:00Z')).toBe(0);
    expect(await by(`from=2020-01-01&to=${sendAt}`)).toBe(3);
    expect(await by('channel=email')).toBe(0);

    expect((await call('DELETE', '/messages/t1')).body.data).toMatchObject({ uid: 't1', state: 'canceled' });
    expect(await by('state=canceled')).toBe(1);
    await until('m1 is recorded', async () => (await call('GET', '/messages/m1')).body.data.state === 'sent');
    expect(await call('DELETE', '/messages/m1')).toMatchObject({
      status: 409,
      body: { code: 'not_cancelable' },
    });
    expect((await call('DELETE', '/messages/none')).status).toBe(404);
  });

  test('a held tag keeps its messages back until it is released', async () => {
    expect((await call('PUT', '/holds/tag%201')).body.data).toEqual({ campaign: 'tag 1', held: true });
    expect((await call('PUT', '/holds/tag%201?aside=perhaps')).status).toBe(422);
    const read = async (tag: string) => (await call('GET', `/holds/${tag}`)).body.data;
    expect(await read('tag%201')).toEqual({ campaign: 'tag 1', held: true });
    expect(await read('tag')).toEqual({ campaign: 'tag', held: false });
    await call('POST', '/send-msg', sms('h1', { campaign: 'tag 1' }));
    await call('POST', '/send-msg', sms('h2'));
    await until('the other is sent', () => one.sms.uids().includes('h2'));
    expect(one.sms.uids()).not.toContain('h1');
    expect((await call('DELETE', '/holds/tag%201')).body.data).toEqual({ campaign: 'tag 1', held: false });
    await until('it is sent', () => one.sms.uids().includes('h1'));
  });

  test('the feed is read from cursor to cursor', async () => {
    let after = '';
    const seen: { uid: string; type: string }[] = [];
    for (;;) {
      const page = await call('GET', `/events?limit=5&after=${after}`);
      expect(page.status).toBe(200);
      if (page.body.data.length === 0) break;
      seen.push(...page.body.data);
      after = page.body.next;
    }
    expect(seen.filter((event) => event.uid === 't1').map((event) => event.type)).toEqual([
      'scheduled',
      'canceled',
    ]);
    const waiting = call('GET', `/events?wait=10&after=${after}`);
    await call('POST', '/send-msg', sms('woken'));
    // A message that an earlier test let go may be recorded meanwhile, and comes first then.
    let page = await waiting;
    while (!page.body.data.some(({ uid }: { uid: string }) => uid === 'woken')) {
      expect(page.body.data).not.toEqual([]);
      page = await call('GET', `/events?wait=10&after=${page.body.next}`);
    }
    expect((await call('GET', '/events?after=bad!')).status).toBe(422);
    expect((await call('GET', '/events?wait=21')).status).toBe(422);
  });
});
