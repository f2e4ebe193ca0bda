/** Proves template previews and test messages. */

import { createContactLists } from '../../src/campaigns/contacts/contact-lists';
import { createContactParams } from '../../src/campaigns/contacts/fill-params';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { createStops, type Stops } from '../../src/campaigns/stops/stops';
import { contactListRoutes } from '../../src/http/contact-lists';
import { templateTrialRoutes } from '../../src/http/template-trials';
import { createLog } from '../../src/log';
import { createTemplateVersions } from '../../src/messaging/templates/template-versions';
import { createTemplates } from '../../src/messaging/templates/templates';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../messaging/outbox-rig';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { bearerFor, newWorkspace, startService, type TestService } from './service';

describeWithDatabase('trying a template', (database) => {
  let rig: OutboxRig;
  let one: TestProcess;
  let service: TestService;
  let names = 0;
  let stops: Stops;
  beforeAll(async () => {
    const storage = await database.open();
    rig = await createOutboxRig(storage);
    one = await rig.process();
    const db = storage.tables<CampaignTables>();
    const templates = createTemplates({ db: rig.db, versions: createTemplateVersions(rig.db) });
    const { delivery } = one;
    stops = createStops({ db, changed: delivery.stopsChanged, log: createLog('silent') });
    const trials = { templates, contactParams: createContactParams({ db }), delivery, stops };
    service = await startService(rig.db, {
      routes: [
        templateTrialRoutes({ ...trials, isUserAddress: async () => true }),
        (scope) => contactListRoutes(scope, { contactLists: createContactLists({ db }) }),
      ],
    });
  });
  afterAll(async () => {
    await service.app.close();
    await rig.stop();
  });

  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    service.call(method, path, {
      headers: { authorization: service.bearer, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const create = async (body: object): Promise<string> => {
    names += 1;
    const created = await call('POST', '/api/template/', { templateName: `t${names}`, ...body });
    expect(created.status).toBe(201);
    return created.body.template.id;
  };
  const preview = (id: string, body: object) => call('POST', `/api/template/${id}/preview`, body);
  const codes = (warnings: { code: string }[]) => warnings.map(({ code }) => code);

  const contact = async (fields: object): Promise<string> => {
    const list = (await call('POST', '/api/contact-list', { name: 'l' })).body.data.id;
    const imported = await call('POST', `/api/contact-list/${list}/contacts`, { contacts: [fields] });
    expect(imported.body.data.created + imported.body.data.updated).toBe(1);
    return (await call('GET', `/api/contact-list/${list}/contacts`)).body.data[0].id;
  };

  test('an email is shown in all its parts, each escaped for its place', async () => {
    const id = await create({
      channel: 'email',
      subject: 'For {{NAME}}',
      body: '<p title="{{NAME}}">Hi {{ NAME }}, {{CITY}}</p>',
    });
    const shown = await preview(id, { params: { NAME: 'A&B' } });
    expect(shown).toMatchObject({ status: 200, body: { success: true, result: 'success', status: 200 } });
    expect(shown.body.data).toEqual({
      templateId: id,
      channel: 'email',
      version: 1,
      subject: 'For A&B',
      html: '<p title="A&amp;B">Hi A&amp;B, {{CITY}}</p>',
      text: 'Hi A&B, {{CITY}}',
      used: ['NAME', 'CITY'],
      missing: ['CITY'],
      warnings: [],
    });
  });

  test('what may go wrong with an email is said', async () => {
    const id = await create({
      channel: 'email',
      subject: 'S {{NAME}} {{name}}',
      body: '<a href="{{LINK}}">x</a><a href="{{SAFE}}">y</a><img alt="" src="http://e.org/x.png">',
    });
    const params = { NAME: 'n'.repeat(90), LINK: 'javascript:alert(1)', SAFE: 'https://e.org' };
    const { warnings } = (await preview(id, { params })).body.data;
    expect(warnings.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`)).toEqual([
      'subject not_a_placeholder',
      'subject long_subject',
      'html insecure_image',
      'html link_without_scheme',
    ]);
    expect(warnings[3].message).toContain('{{LINK}}');
  });

  test('an SMS is shown with its segments, and the character that makes them more is named', async () => {
    const id = await create({ channel: 'sms', body: 'Hello {{NAME}}' });
    const plain = (await preview(id, { params: { NAME: 'Ada' } })).body.data;
    expect(plain).toMatchObject({
      text: 'Hello Ada',
      segments: 1,
      encoding: 'gsm7',
      missing: [],
      warnings: [],
    });
    const costly = (await preview(id, { params: { NAME: `“${'x'.repeat(80)}` } })).body.data;
    expect(costly).toMatchObject({ segments: 2, encoding: 'ucs2' });
    expect(codes(costly.warnings)).toEqual(['several_segments', 'not_gsm7']);
    expect(costly.warnings[1].message).toContain('“ (U+201C) at 7');
  });

  test('a voice document is shown with its values in XML', async () => {
    const id = await create({
      channel: 'voice',
      body: '<Response><Say>Hi {{NAME}}</Say></Response>',
      voiceJson: {
        nodes: [{ id: 'a', type: 'textNode', data: { isStart: true, isEndNode: true, text: 'Hi {{NAME}}' } }],
        edges: [],
        viewport: { x: 0, y: 0, zoom: 1 },
      },
    });
    const { data } = (await preview(id, { params: { NAME: '<b>' } })).body;
    expect(data).toMatchObject({ xml: '<Response><Say>Hi &lt;b&gt;</Say></Response>', used: ['NAME'] });
    expect(data.warnings).toEqual([]);
  });

  test('a value that a verb refuses is reported with the document', async () => {
    const id = await create({
      channel: 'voice',
      body: '<Response><Pause length="{{SECONDS}}"/><Sing/></Response>',
      voiceJson: {
        nodes: [{ id: 'a', type: 'hangup', data: { isStart: true } }],
        edges: [],
        viewport: { x: 0, y: 0, zoom: 1 },
      },
    });
    const right = (await preview(id, { params: { SECONDS: 2 } })).body.data;
    expect(codes(right.warnings)).toEqual(['unknown_verb']);
    const wrong = (await preview(id, { params: { SECONDS: 999 } })).body.data;
    expect(codes(wrong.warnings)).toEqual(['unknown_verb', 'invalid_value']);
    expect(wrong.warnings[1].message).toBe(
      'Line 1, column 11: length of <Pause> must be a whole number from 1 to 60',
    );
  });

  test('a call that continues with another document gets a warning', async () => {
    const id = await create({
      channel: 'voice',
      body: '<Response><Redirect>https://example.com/{{NAME}}</Redirect></Response>',
      voiceJson: {
        nodes: [{ id: 'a', type: 'hangup', data: { isStart: true } }],
        edges: [],
        viewport: { x: 0, y: 0, zoom: 1 },
      },
    });
    const { data } = (await preview(id, { params: { NAME: 'ann' } })).body;
    expect(codes(data.warnings)).toEqual(['other_document']);
    expect(data.warnings[0].message).toContain('https://example.com/ann');
  });

  test('a contact fills what a campaign would fill from it, and the given values the rest', async () => {
    const id = await create({ channel: 'sms', body: '{{NAME}} {{PHONE}} {{CITY}} {{SHOP}} {{GONE}}' });
    const contactId = await contact({ name: 'Ada', phone: '+12025550123', params: { CITY: 'Köln' } });
    const { data } = (await preview(id, { contactId, params: { CITY: 'Bonn', NAME: 'Bob', SHOP: 'Ours' } }))
      .body;
    expect(data).toMatchObject({ text: 'Ada +12025550123 Köln Ours {{GONE}}', missing: ['GONE'] });
  });

  test('neither an unknown contact nor another workspace’s is found', async () => {
    const id = await create({ channel: 'sms', body: 'x' });
    expect((await preview(id, { contactId: 'con_unknown' })).status).toBe(404);
    const contactId = await contact({ phone: '+12025550199' });
    expect((await preview(id, { contactId })).status).toBe(200);
    const authorization = await bearerFor(service.identity, await newWorkspace(service.identity));
    const theirs = (
      await call('POST', '/api/template', { channel: 'sms', templateName: 'x', body: 'x' }, { authorization })
    ).body.template.id;
    expect(
      (await call('POST', `/api/template/${theirs}/preview`, { contactId }, { authorization })).status,
    ).toBe(404);
    expect((await call('POST', `/api/template/${id}/preview`, {}, { authorization })).status).toBe(404);
    expect(
      (await call('POST', `/api/template/${id}/test-send`, { to: 'x', from: 'y' }, { authorization })).status,
    ).toBe(404);
  });

  test('an older version is shown and sent when it is named, also of an archived template', async () => {
    const id = await create({ channel: 'sms', body: 'one' });
    await call('PUT', `/api/template/${id}`, { channel: 'sms', templateName: 'newer', body: 'two' });
    expect((await preview(id, {})).body.data).toMatchObject({ version: 2, text: 'two' });
    expect((await preview(id, { version: 1 })).body.data).toMatchObject({ version: 1, text: 'one' });
    expect((await preview(id, { version: 3 })).status).toBe(404);
    await call('DELETE', `/api/template/${id}`);
    expect((await preview(id, {})).status).toBe(404);
    expect((await preview(id, { version: 1 })).body.data.text).toBe('one');
  });

  test.each([
    [{ params: { name: 'x' } }, ['params.name']],
    [{ params: [], version: 0, contactId: 7 }, ['params', 'contactId', 'version']],
    [{ parms: {} }, ['parms']],
  ])('a preview with %j is refused, every finding named', async (body, paths) => {
    const answer = await preview(await create({ channel: 'sms', body: 'x' }), body);
    expect([answer.status, answer.body.errors.map(({ path }: { path: string }) => path)]).toEqual([
      422,
      paths,
    ]);
  });

  test('a test message is sent like any other', async () => {
    const id = await create({ channel: 'sms', body: 'Test for {{NAME}}' });
    const given = { to: '+1 202 555 0123', from: '12345', params: { NAME: 'Ada' } };
    const sent = await call('POST', `/api/template/${id}/test-send`, given);
    expect(sent).toMatchObject({
      status: 202,
      body: {
        result: 'success',
        data: { to: '+12025550123', channel: 'sms', state: 'accepted', duplicate: false },
      },
    });
    const { uid } = sent.body.data;
    await until('it is sent', () => one.sms.uids().includes(uid));
    expect(one.sms.taken.find((message) => message.uid === uid)?.text).toBe('Test for Ada');
    const stored = rig.db.selectFrom('messages').select('class').where('uid', '=', uid);
    expect(await stored.executeTakeFirst()).toEqual({ class: 'transactional' });
  });

  test('a test message is refused for what any message is refused for', async () => {
    const id = await create({ channel: 'sms', body: 'Test for {{NAME}}' });
    const wrong = await call('POST', `/api/template/${id}/test-send`, { to: 'x', from: 'y@z' });
    expect([wrong.status, wrong.body.errors.map(({ path }: { path: string }) => path)]).toEqual([
      422,
      ['to', 'from'],
    ]);
    const missing = await call('POST', `/api/template/${id}/test-send`, {
      to: '+12025550123',
      from: '12345',
    });
    expect(missing).toMatchObject({ status: 422, body: { code: 'missing_params' } });
    expect(
      (await call('POST', '/api/template/tpl_none/test-send', { to: '+12025550123', from: '12345' })).status,
    ).toBe(404);
  });

  test('repeated with its Idempotency-Key, a template is created once and a test message sent once', async () => {
    const key = { 'idempotency-key': `k-${names}` };
    const body = { channel: 'sms', templateName: 'once', body: 'Once' };
    const [first, again] = [
      await call('POST', '/api/template', body, key),
      await call('POST', '/api/template', body, key),
    ];
    expect([first.status, again.status, again.headers['idempotent-replay']]).toEqual([201, 201, 'true']);
    expect(again.body).toEqual(first.body);

    const path = `/api/template/${first.body.template.id}/test-send`;
    const given = { to: '+12025550123', from: '12345' };
    const uids = [];
    for (let i = 0; i < 2; i++) {
      uids.push((await call('POST', path, given, { 'idempotency-key': `s-${names}` })).body.data.uid);
    }
    expect(uids[1]).toBe(uids[0]);
  });
});
