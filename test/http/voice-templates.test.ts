/** Proves how voice templates are accepted, compiled and warned about. */

import type { Kysely } from 'kysely';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace, startService, type TestService } from './service';

const NODE = {
  id: 'node_1',
  type: 'textNode',
  position: { x: 100, y: 200 },
  markerEnd: { type: 'arrowclosed' },
  Icon: 'TextIcon',
  data: { label: 'Text', isStart: true, isEndNode: true, text: 'Hello {{NAME}}' },
  width: 150,
  height: 40,
  positionAbsolute: { x: 100, y: 200 },
};
const FLOW = { nodes: [NODE], edges: [], viewport: { x: 0, y: 0, zoom: 1 } };
const XML =
  '<?xml version="1.0" encoding="UTF-8"?><Response><Answer/><Pause length="1" history="full"/><Say>Hello {{NAME}}</Say></Response>';
const COMPILED = '<Response>\n  <Answer/>\n  <Say>Hello {{NAME}}</Say>\n  <Hangup/>\n</Response>';

describeWithDatabase('voice templates', (database) => {
  let service: TestService;
  let authorization: string;
  beforeAll(async () => {
    const db: Kysely<MessagingTables> = (await database.open()).tables<MessagingTables>();
    service = await startService(db, { speaks: (language) => language !== 'tlh' });
    authorization = await bearerFor(service.identity, await newWorkspace(service.identity));
  });
  afterAll(() => service.app.close());

  let count = 0;
  const create = (more: object) => {
    count += 1;
    const body = { templateName: `call ${count}`, channel: 'voice', body: XML, voiceJson: FLOW, ...more };
    return service.call('POST', '/api/template/', { headers: { authorization }, body });
  };
  const findings = ({ body }: { body: { errors: { path: string; code: string }[] } }) =>
    body.errors.map(({ path, code }) => `${path} ${code}`);

  test('the specification’s own shapes are taken as they are', async () => {
    const created = await create({});
    expect(created.status).toBe(201);
    expect(created.body.template).toMatchObject({ body: XML, voiceJson: FLOW });
    expect(created.body.warnings).toEqual([]);
  });

  test('a language that no voice speaks is warned of', async () => {
    const body = XML.replace('<Say>', '<Say language="tlh">');
    const created = await create({ body });
    expect(created.body.warnings).toMatchObject([{ path: 'body', code: 'no_voice' }]);
    const url = `/api/template/${created.body.template.id}`;
    const replaced = await service.call('PUT', url, {
      headers: { authorization },
      body: { templateName: `call ${count}`, channel: 'voice', body: XML, voiceJson: FLOW },
    });
    expect(replaced.body.warnings).toEqual([]);
  });

  test.each([[''], ['  \n'], [null], [undefined]])(
    'a body of %j is compiled from the flow, and the answer has it',
    async (body) => {
      const created = await create({ body });
      expect(created.status).toBe(201);
      expect(created.body.template.body).toBe(COMPILED);
      const shown = await service.call('GET', `/api/template/${created.body.template.id}`, {
        headers: { authorization },
      });
      expect(shown.body.template).toMatchObject({ body: COMPILED, voiceJson: FLOW });
    },
  );

  test('a new version is compiled as the first was', async () => {
    const { id } = (await create({ body: '' })).body.template;
    const voiceJson = { ...FLOW, nodes: [{ ...NODE, data: { ...NODE.data, text: 'Changed' } }] };
    const body = { templateName: 'changed', channel: 'voice', body: '', voiceJson };
    const replaced = await service.call('PUT', `/api/template/${id}`, { headers: { authorization }, body });
    expect(replaced.body.template).toMatchObject({
      version: 2,
      body: COMPILED.replace('Hello {{NAME}}', 'Changed'),
    });
  });

  test('all problems of document, flow and other fields are reported at once', async () => {
    const answer = await create({
      templateName: '',
      body: '<Response><Pause length="90"/><Gather><Hangup/></Gather></Response>',
      voiceJson: {
        ...FLOW,
        nodes: [{ ...NODE, data: { isStart: false } }],
        edges: [{ id: 'e', source: 'x' }],
      },
    });
    expect([answer.status, answer.body.code]).toEqual([422, 'invalid_request']);
    expect(findings(answer).sort()).toEqual([
      'body invalid_value',
      'body misplaced_verb',
      'templateName too_small',
      'voiceJson.edges.0.source unknown_node',
      'voiceJson.edges.0.target unknown_node',
      'voiceJson.nodes no_start',
    ]);
    expect(answer.body.errors[1].message).toBe(
      'Line 1, column 11: length of <Pause> must be a whole number from 1 to 60',
    );
  });

  test('a flow that has to be compiled must be fit for it, and one that has not is warned about', async () => {
    const voiceJson = {
      ...FLOW,
      nodes: [{ ...NODE, type: 'play', data: { isStart: true, isEndNode: true } }],
    };
    expect(findings(await create({ body: '', voiceJson }))).toEqual([
      'voiceJson.nodes.0.data.url missing_value',
    ]);
    const kept = await create({ voiceJson });
    expect(kept.status).toBe(201);
    expect(kept.body.warnings).toEqual([
      {
        path: 'voiceJson.nodes.0.data.url',
        code: 'missing_value',
        message: 'An address is needed',
        severity: 'warning',
      },
    ]);
  });

  test('what is not known is kept, and warned about', async () => {
    const body = '<Response><Sing key="c">la</Sing><Say tempo="2">Hello {{NAME}}</Say></Response>';
    const voiceJson = { ...FLOW, nodes: [{ ...NODE, type: 'hologram', future: [1] }], version: 13 };
    const created = await create({ body, voiceJson });
    expect(created.status).toBe(201);
    expect(created.body.template).toMatchObject({ body, voiceJson });
    expect(
      created.body.warnings.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
    ).toEqual(['body unknown_verb', 'body unknown_attribute', 'voiceJson.nodes.0.type unknown_node_type']);
  });

  test('a flow that says something else than the document is warned about', async () => {
    const body = '<Response><Say>Good evening {{NAME}}</Say></Response>';
    expect((await create({ body })).body.warnings.map(({ code }: { code: string }) => code)).toEqual([
      'body_differs',
    ]);
  });

  test.each<[string, object, string[]]>([
    ['no start', { voiceJson: { ...FLOW, nodes: [] } }, ['voiceJson.nodes no_start']],
    [
      'two starts',
      { voiceJson: { ...FLOW, nodes: [NODE, { ...NODE, id: 'b' }] } },
      ['voiceJson.nodes.1.data.isStart several_starts'],
    ],
    ['a body of the wrong type', { body: 5 }, ['body invalid_type']],
    [
      'a node that is none',
      { voiceJson: { ...FLOW, nodes: [NODE, 5] } },
      ['voiceJson.nodes.1 invalid_type', 'voiceJson.nodes.1 unreachable_node'],
    ],
    ['no flow to compile', { body: '', voiceJson: undefined }, ['voiceJson required']],
    [
      'a document type',
      { body: '<!DOCTYPE a [<!ENTITY b "c">]><Response>&b;</Response>' },
      ['body doctype_forbidden'],
    ],
    [
      'a name that no message can fill',
      { body: `<Response><Say>{{${'N'.repeat(65)}}}</Say></Response>` },
      ['body placeholder_too_long'],
    ],
    [
      'a document beyond the bound',
      { body: `<Response><Say>${'x'.repeat(300_000)}</Say></Response>` },
      ['body too_long'],
    ],
  ])('a template with %s is refused', async (_what, more, expected) => {
    const answer = await create(more);
    expect([answer.status, findings(answer)]).toEqual([422, expected]);
  });

  test('a key named like a prototype changes nothing', async () => {
    const json = JSON.stringify({ templateName: 'p', channel: 'voice', body: '', voiceJson: FLOW });
    const body = json.replace('"label":', '"__proto__":{"text":"gone"},"label":');
    const answer = await service.call('POST', '/api/template/', { headers: { authorization }, body });
    expect([201, 400, 422]).toContain(answer.status);
    expect(({} as { text?: string }).text).toBeUndefined();
  });
});
