/** Proves how templates are created, replaced, listed and archived. */

import type { Kysely } from 'kysely';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, type HttpAnswer, newWorkspace, startService, type TestService } from './service';

const XML =
  '<?xml version="1.0"?><Response><Answer/><Pause length="1" history="full"/><Say>Good morning {{NAME}}</Say><Say>Hi {{NAME}}</Say></Response>';
const FLOW = {
  nodes: [
    {
      id: 'n1',
      type: 'textNode',
      position: { x: 1.5, y: 2 },
      data: { label: 'Say', isStart: true, isEndNode: false, text: 'Good morning {{NAME}}' },
      futureKey: { kept: [1, null, 'ü'] },
    },
    { id: 'n2', type: 'textNode', data: { label: 'End', isEndNode: true, text: 'Hi {{NAME}}' } },
  ],
  edges: [{ id: 'e1', source: 'n1', target: 'n2', anything: true }],
  viewport: { x: 0, y: 0, zoom: 1 },
};
const LAYOUT = {
  root: { type: 'EmailLayout', data: { backdropColor: '#fff', childrenIds: ['b1'], futureKey: 1 } },
  b1: { type: 'Text', data: { props: { text: 'Hi {{NAME}}' }, style: { padding: { top: 1 } } } },
};

const sms = (templateName: string, body = 'Hello {{NAME}}') => ({ channel: 'sms', templateName, body });
const email = (templateName: string, more: object = {}) => ({
  channel: 'email',
  templateName,
  subject: 'News for {{NAME}}',
  body: '<p>Hello {{NAME}}</p>',
  emailProviderId: '',
  template: LAYOUT,
  ...more,
});
const voice = (templateName: string, more: object = {}) => ({
  channel: 'voice',
  templateName,
  body: XML,
  voiceJson: FLOW,
  ...more,
});

describeWithDatabase('templates', (database) => {
  let db: Kysely<MessagingTables>;
  let service: TestService;
  let authorization: string;
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
    service = await startService(db);
  });
  beforeEach(async () => {
    authorization = await bearerFor(service.identity, await newWorkspace(service.identity));
  });
  afterAll(() => service.app.close());

  const call = (method: string, path: string, body?: unknown) =>
    service.call(method, `/api/template${path}`, { headers: { authorization }, ...(body ? { body } : {}) });
  const create = (body: unknown) => call('POST', '/', body);
  const createAll = async (...bodies: unknown[]) => {
    for (const body of bodies) expect((await create(body)).status).toBe(201);
  };
  const names = (answer: HttpAnswer) =>
    answer.body.templates.map((t: { templateName: string }) => t.templateName);
  const paths = (answer: HttpAnswer) => answer.body.errors.map((error: { path: string }) => error.path);

  test('versions say when, by whom and why they were saved, newest first', async () => {
    const { template } = (await create({ ...sms('Told'), note: 'First try' })).body;
    await call('PUT', `/${template.id}`, sms('Told', 'Hi {{NAME}}'));
    await call('PUT', `/${template.id}`, { ...sms('Told', 'Ho {{NAME}}'), note: null });
    const { status, body } = await call('GET', `/${template.id}/versions`);
    const time = expect.stringMatching(/Z$/);
    const createdBy = expect.stringMatching(/^cli_/);
    expect([status, body.data]).toEqual([
      200,
      [
        { version: 3, createdAt: time, createdBy },
        { version: 2, createdAt: time, createdBy },
        { version: 1, createdAt: time, createdBy, note: 'First try' },
      ],
    ]);
    await call('DELETE', `/${template.id}`);
    expect((await call('GET', `/${template.id}/versions`)).body.data).toHaveLength(3);
    expect((await call('GET', '/tpl_none/versions')).status).toBe(404);
    expect(paths(await create({ ...sms('Long'), note: 'x'.repeat(201) }))).toEqual(['note']);
  });

  test('a block may be called as a flow calls its nodes, and hold anything', async () => {
    const root = { type: 'EmailLayout', data: { childrenIds: [] } };
    for (const nodes of [[null], [{ data: null }], 'x', { type: 'Text' }]) {
      const answer = await create(email(`nodes ${JSON.stringify(nodes)}`, { template: { root, nodes } }));
      expect([nodes, answer.status]).toEqual([nodes, 201]);
    }
  });

  test('a template of each channel is created and shown whole, unknown keys included', async () => {
    for (const body of [sms('s'), email('e'), voice('v')]) {
      const created = await create(body);
      expect(created.status).toBe(201);
      expect(created.body).toEqual({
        success: true,
        template: {
          ...body,
          ...(body.channel === 'email' ? { text: 'Hello {{NAME}}' } : {}),
          id: expect.stringMatching(/^tpl_/),
          version: 1,
          createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
          updatedAt: created.body.template.createdAt,
        },
        warnings: [],
      });
      const shown = await call('GET', `/${created.body.template.id}`);
      expect(shown.body).toMatchObject({ success: true, result: 'success', status: 200 });
      expect(shown.body.template).toEqual(created.body.template);
      expect(shown.body.data).toEqual(created.body.template);
    }
  });

  test('an email may come without a layout and without a provider’s template', async () => {
    const { template, emailProviderId, ...bare } = email('bare');
    expect((await create(bare)).body.template).toMatchObject({ emailProviderId: '', template: null });
    expect(
      (await create({ ...bare, templateName: 'held', emailProviderId: 'd-1' })).body.template.emailProviderId,
    ).toBe('d-1');
  });

  test('a list shows what the specification says for each channel, and nothing heavier', async () => {
    await createAll(sms('s'), email('e'), voice('v'));
    const common = {
      id: expect.any(String),
      version: 1,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    };
    const list = async (channel: string) => (await call('GET', `/?channel=${channel}`)).body;
    expect(await list('sms')).toEqual({
      success: true,
      templates: [{ ...common, templateName: 's', channel: 'sms', body: 'Hello {{NAME}}' }],
      page: 1,
      pageSize: 20,
      total: 1,
    });
    expect((await list('email')).templates).toEqual([
      { ...common, templateName: 'e', channel: 'email', subject: 'News for {{NAME}}' },
    ]);
    expect((await list('voice')).templates).toEqual([
      { ...common, templateName: 'v', channel: 'voice', voiceJson: FLOW },
    ]);
  });

  test('a list comes by pages, newest first, and empty parameters are absent ones', async () => {
    await createAll(...Array.from({ length: 23 }, (_, i) => sms(`t${i}`)));
    const first = await call('GET', '?channel=sms&column=&direction=&search=&page=&pageSize=');
    expect([first.body.page, first.body.pageSize, first.body.total]).toEqual([1, 20, 23]);
    const second = await call('GET', '/?channel=sms&page=2');
    const all = [...names(first), ...names(second)];
    expect(new Set(all).size).toBe(23);
    expect([names(first).length, names(second).length]).toEqual([20, 3]);
    const created = [...first.body.templates, ...second.body.templates].map((t) => t.createdAt);
    expect(created).toEqual([...created].sort().reverse());
    const beyond = await call('GET', '/?channel=sms&page=9');
    expect([beyond.status, beyond.body.templates, beyond.body.total]).toEqual([200, [], 23]);
    expect((await call('GET', '/?channel=sms&page=3&pageSize=10')).body.templates).toHaveLength(3);
  });

  test('a list is sorted by the columns it names', async () => {
    await createAll(sms('banana'), sms('Apple'), sms('cherry'));
    const sorted = async (query: string) => names(await call('GET', `/?channel=sms&${query}`));
    expect(await sorted('column=templateName')).toEqual(['Apple', 'banana', 'cherry']);
    expect(await sorted('column=templateName&direction=desc')).toEqual(['cherry', 'banana', 'Apple']);
    expect(await sorted('column=createdAt&direction=asc')).toEqual(['banana', 'Apple', 'cherry']);
    expect(await sorted('column=createdAt')).toEqual(['cherry', 'Apple', 'banana']);
    expect(await sorted('direction=asc')).toEqual(['banana', 'Apple', 'cherry']);
    expect(await sorted('column=channel')).toHaveLength(3);
  });

  test('editing a template moves it up in the order of changes', async () => {
    await createAll(sms('first'), sms('second'));
    const { templates } = (await call('GET', '/?channel=sms')).body;
    const first = templates.find((t: { templateName: string }) => t.templateName === 'first');
    await call('PUT', `/${first.id}`, sms('first', 'new text'));
    expect(names(await call('GET', '/?channel=sms&column=updatedAt'))).toEqual(['first', 'second']);
  });

  test('a search is a literal substring, whatever its case, in name, subject, body and spoken texts', async () => {
    await createAll(sms('100% sure'), sms('1000 sure', 'under_score'), sms('Ärger', 'back\\slash'));
    await createAll(email('mail', { subject: 'Spring SALE', body: '<b>Unique</b>' }), voice('call'));
    const found = async (channel: string, search: string) =>
      names(await call('GET', `/?channel=${channel}&search=${encodeURIComponent(search)}`));
    expect(await found('sms', '100%')).toEqual(['100% sure']);
    expect(await found('sms', 'r_s')).toEqual(['1000 sure']);
    expect(await found('sms', 'K\\S')).toEqual(['Ärger']);
    expect(await found('sms', 'äRGER')).toEqual(['Ärger']);
    expect(await found('email', 'spring sale')).toEqual(['mail']);
    expect(await found('email', 'unique')).toEqual(['mail']);
    expect(await found('voice', 'GOOD morning')).toEqual(['call']);
    expect(await found('voice', 'n1')).toEqual([]);
    expect(await found('sms', 'nowhere')).toEqual([]);
    const total = (await call('GET', '/?channel=sms&search=sure&pageSize=1')).body.total;
    expect(total).toBe(2);
  });

  test.each([
    ['', ['channel']],
    ['?channel=fax', ['channel']],
    ['?channel=', ['channel']],
    ['?channel=sms&channel=email', ['channel']],
    [
      '?channel=sms&column=body&direction=up&page=0&pageSize=101',
      ['column', 'direction', 'page', 'pageSize'],
    ],
    ['?channel=sms&page=-1', ['page']],
    ['?channel=sms&page=1.5', ['page']],
    ['?channel=sms&page=one', ['page']],
    ['?channel=sms&pageSize=0', ['pageSize']],
    [`?channel=sms&search=${'x'.repeat(201)}`, ['search']],
  ])('a list with %j is refused, every wrong parameter named', async (query, expected) => {
    const answer = await call('GET', query);
    expect(answer.status).toBe(422);
    expect(paths(answer)).toEqual(expected);
  });

  test('parameters that the specification does not know are ignored', async () => {
    expect((await call('GET', '/?channel=sms&_=17')).status).toBe(200);
  });

  test.each([
    ['no channel', { templateName: 'x', body: 'y' }, ['channel']],
    ['another channel', { channel: 'fax', templateName: 'x', body: 'y' }, ['channel']],
    ['neither a channel nor a name', { body: 'y' }, ['channel', 'templateName']],
    ['nothing but a channel', { channel: 'email' }, ['templateName', 'subject', 'body']],
    ['empty texts', { channel: 'sms', templateName: ' ', body: ' ' }, ['templateName', 'body']],
    ['a subject of two lines', email('x', { subject: 'a\r\nBcc: b' }), ['subject']],
    ['a layout that is a list', email('x', { template: [] }), ['template']],
    ['a voice document with a type', voice('x', { body: '<!DOCTYPE a><Response/>' }), ['body']],
    ['another root', voice('x', { body: '<Reply/>' }), ['body']],
    [
      'a flow without its parts',
      voice('x', { voiceJson: { nodes: {} } }),
      ['voiceJson.nodes', 'voiceJson.edges', 'voiceJson.viewport'],
    ],
    ['no flow', voice('x', { voiceJson: undefined }), ['voiceJson']],
  ])('a template with %s is refused, every finding named', async (_what, body, expected) => {
    const answer = await create(body);
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid_request']);
    expect(paths(answer)).toEqual(expected);
  });

  test('a layout nested beyond reason is refused', async () => {
    const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    const answer = await create(
      JSON.stringify(email('x', { template: 0 })).replace('"template":0', `"template":${deep}`),
    );
    expect([answer.status, paths(answer)]).toEqual([422, ['template']]);
  });

  test('an email template may be larger than other bodies', async () => {
    const large = await create(email('large', { body: `<p>${'x'.repeat(3 * 1024 * 1024)}</p>` }));
    expect(large.status).toBe(201);
    expect((await create(email('huge', { body: 'x'.repeat(4 * 1024 * 1024) }))).status).toBe(413);
  });

  test('braces that are no placeholder are text, stay as they are, and are warned about', async () => {
    const body = 'Hi {{ lower }} {{NAME} {{}} {{ FIRST_NAME }} {{1ST}}';
    const created = (await create(sms('braces', body))).body;
    expect(created.template.body).toBe(body);
    expect(created.warnings).toEqual(
      ['{{ lower }}', '{{NAME}'].map((braces) => ({
        path: 'body',
        code: 'not_a_placeholder',
        message: expect.stringContaining(braces),
        severity: 'warning',
      })),
    );
  });

  test('the total of a list is right after many came and went at once', async () => {
    const made = await Promise.all(Array.from({ length: 12 }, (_, i) => create(sms(`n${i}`))));
    await create(sms('n0'));
    const ids = made.map(({ body }) => body.template.id);
    await Promise.all(ids.slice(0, 5).flatMap((id) => [call('DELETE', `/${id}`), call('DELETE', `/${id}`)]));
    await call('PUT', `/${ids[6]}`, sms('renamed'));
    expect((await call('GET', '/?channel=sms&pageSize=1')).body.total).toBe(7);
    expect((await call('GET', '/?channel=sms&search=n&pageSize=1')).body.total).toBe(7);
  });

  test('rows that are equal in the sorted column come in the order of their ids', async () => {
    await createAll(...Array.from({ length: 6 }, (_, i) => sms(`t${i}`)));
    await db
      .updateTable('templates')
      .set({ created_at: new Date(0), updated_at: new Date(0) })
      .execute();
    const ids = async (query: string) =>
      (await call('GET', `/?channel=sms&${query}`)).body.templates.map(({ id }: { id: string }) => id);
    for (const column of ['createdAt', 'updatedAt', 'channel']) {
      const up = await ids(`column=${column}&direction=asc`);
      expect(up).toEqual([...up].sort());
      expect(await ids(`column=${column}&direction=desc`)).toEqual([...up].reverse());
    }
  });

  test('a name is taken once per channel, also by two at once, and free again when archived', async () => {
    const both = await Promise.all([create(sms('same')), create(sms('same'))]);
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409]);
    const [made, refused] = both[0].status === 201 ? both : [both[1], both[0]];
    expect(refused.body.code).toBe('name_taken');
    expect((await create(email('same'))).status).toBe(201);
    await call('DELETE', `/${made.body.template.id}`);
    expect((await create(sms('same'))).status).toBe(201);
  });

  test('replacing writes a new version and leaves the old one as it was', async () => {
    const { id } = (await create(sms('old', 'one'))).body.template;
    const replaced = await call('PUT', `/${id}`, sms('new', 'two'));
    expect(replaced.status).toBe(200);
    expect(replaced.body.template).toMatchObject({ id, version: 2, templateName: 'new', body: 'two' });
    expect((await call('GET', `/${id}?version=1`)).body.template).toMatchObject({ version: 1, body: 'one' });
    expect((await call('GET', `/${id}`)).body.template).toMatchObject({ version: 2, body: 'two' });
    expect((await call('GET', `/${id}?version=3`)).status).toBe(404);
    expect((await call('GET', `/${id}?version=0`)).status).toBe(422);
    expect((await call('GET', '/?channel=sms&search=one')).body.total).toBe(0);
    expect((await call('GET', '/?channel=sms&search=two')).body.templates[0].version).toBe(2);
  });

  test('replacing side by side numbers every version once', async () => {
    const { id } = (await create(sms('busy'))).body.template;
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, i) => call('PUT', `/${id}`, sms('busy', `text ${i}`))),
    );
    expect(answers.map(({ body }) => body.template.version).sort()).toEqual([2, 3, 4, 5, 6]);
  });

  test('of many that want one name at once, by creating or by renaming, one gets it', async () => {
    const ids = [];
    for (let i = 0; i < 3; i++) ids.push((await create(sms(`own${i}`))).body.template.id);
    const answers = await Promise.all([
      ...ids.map((id) => call('PUT', `/${id}`, sms('wanted'))),
      ...ids.map(() => create(sms('wanted'))),
    ]);
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === 'name_taken')).toHaveLength(5);
    expect((await call('GET', '/?channel=sms&search=wanted')).body.total).toBe(1);
  });

  test('replacing cannot take another template’s name or change the channel', async () => {
    await createAll(sms('taken'));
    const { id } = (await create(sms('mine'))).body.template;
    expect((await call('PUT', `/${id}`, sms('taken'))).body.code).toBe('name_taken');
    const changed = await call('PUT', `/${id}`, email('mine'));
    expect([changed.status, paths(changed)]).toEqual([422, ['channel']]);
    expect((await call('GET', `/${id}`)).body.template.version).toBe(1);
  });

  test('an archived template is gone from lists, and its versions stay readable', async () => {
    const { id } = (await create(sms('gone'))).body.template;
    expect((await call('DELETE', `/${id}/`)).body).toMatchObject({
      success: true,
      result: 'success',
      data: { id },
    });
    expect((await call('GET', '/?channel=sms')).body.total).toBe(0);
    expect((await call('GET', `/${id}`)).status).toBe(404);
    expect((await call('GET', `/${id}?version=1`)).body.template.templateName).toBe('gone');
    expect((await call('DELETE', `/${id}`)).status).toBe(404);
    expect((await call('PUT', `/${id}`, sms('gone'))).status).toBe(404);
  });

  test('a workspace neither sees nor touches another one’s templates', async () => {
    const { id } = (await create(sms('private'))).body.template;
    authorization = service.bearer;
    expect((await call('GET', '/?channel=sms&search=private')).body.total).toBe(0);
    for (const method of ['GET', 'DELETE']) expect((await call(method, `/${id}`)).status).toBe(404);
    expect((await call('GET', `/${id}?version=1`)).status).toBe(404);
    expect((await call('PUT', `/${id}`, sms('mine now'))).status).toBe(404);
  });

  test('without credentials there is nothing to see', async () => {
    expect((await service.call('GET', '/api/template/?channel=sms')).status).toBe(401);
  });
});
