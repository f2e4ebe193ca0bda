import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { documentedPath } from '../../src/http/openapi/document';
import { EXAMPLE } from '../../src/http/openapi/examples';
import type { OpenApiDocument } from '../../src/http/openapi/types';
import { AUDITED_OPERATIONS } from '../../src/http/request/audited-operations';
import { totpCode } from '../../src/messaging/access/second-factor';
import type { NewWorkspace } from '../../src/messaging/access/workspaces';
import { ROOT } from '../support/root';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { type Documented, documentedFor, Names, operationsOf, requestOf } from './openapi-driver';
import { schemasOf } from './openapi-schemas';
import { STORY, type Step } from './openapi-story';
import { basic, bearerFor, type HttpAnswer, newWorkspace } from './service';
import { CALL_TOKEN, INBOUND_SECRET, startWholeApi, UNSUBSCRIBE_TOKENS, type WholeApi } from './whole-api';

/** Read as they come, so that no two requests are known to be the same. */
const STREAMED = ['text/csv', 'application/x-ndjson'];

describeWithDatabase('the OpenAPI document', (database) => {
  let api: WholeApi;
  let db: Kysely<CampaignTables>;
  let owner: NewWorkspace;
  let document: OpenApiDocument;
  let operations: Documented[];
  let findingsOf: ReturnType<typeof schemasOf>;
  let credentials: Record<string, Record<string, string>>;
  const names = new Names();
  /** What the story has sent, and what it was answered. */
  const sent = new Set<string>();
  const answered = new Set<string>();

  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<CampaignTables>();
    api = await startWholeApi(storage);
    owner = await newWorkspace(api.identity);
    const { token } = await api.identity.login({ ...owner.user, address: 'tests' });
    // Another session of the user, which the story ends.
    await api.identity.login({ ...owner.user, address: 'tests' });
    credentials = {
      client: { authorization: basic(owner.client.id, owner.client.secret) },
      bearer: { authorization: await bearerFor(api.identity, owner) },
      apiKey: { 'x-api-key': owner.apiKey },
      session: { cookie: `session_token=${token}`, 'x-user-id': owner.user.id },
    };
    document = (await api.call('GET', '/openapi.json')).body;
    operations = operationsOf(document);
    findingsOf = schemasOf(document);
    names.set(EXAMPLE.inboundSecret, INBOUND_SECRET);
    names.set(EXAMPLE.ownPassword, owner.user.password);
    names.set(EXAMPLE.callToken, CALL_TOKEN);
    const reader = { workspaceId: owner.workspace.id, address: 'reader@example.com' };
    names.set(EXAMPLE.unsubscribeToken, UNSUBSCRIBE_TOKENS.seal(reader));
  });
  afterAll(() => api.stop());

  const operationOf = (id: string): Documented => {
    const found = operations.find(({ operationId }) => operationId === id);
    if (!found) throw new Error(`No operation ${id} is documented`);
    return found;
  };

  /** What the document says the caller has to show, in the first of the ways that it names. */
  const credentialsFor = ({ security }: Documented): Record<string, string> =>
    Object.assign({}, ...Object.keys(security[0] ?? {}).map((scheme) => credentials[scheme]));

  function expectDocumented(operation: Documented, answer: HttpAnswer): void {
    const { response, type, media } = documentedFor(operation, answer);
    const what = { operation: operation.operationId, status: answer.status, type };
    expect({ ...what, findings: findingsOf(media?.schema, answer.body), body: answer.body }).toEqual({
      ...what,
      findings: [],
      body: answer.body,
    });
    const headers = Object.keys(response?.headers ?? {}).filter((name) => name !== 'idempotent-replay');
    expect(Object.keys(answer.headers)).toEqual(expect.arrayContaining(headers));
  }

  test('what is served and what is documented are the same', () => {
    const served = api.routes
      .filter(({ method }) => method !== 'HEAD')
      .map(({ method, url }) => `${method} ${documentedPath(url)}`);
    const documented = operations.map(({ method, path }) => `${method} ${path}`);
    expect(documented.sort()).toEqual([...new Set(served)].sort());
  });

  test('the contract for people names every call', () => {
    const contract = readFileSync(join(ROOT, 'docs/api.md'), 'utf8');
    const ends = Object.keys(document.paths).map((path) => /^.*(\/[^/{}]+)/.exec(path)?.[1] ?? path);
    // Parts of the page at /docs.
    const unnamed = ends.filter((end) => end !== '/static' && !contract.includes(end));
    expect(unnamed).toEqual([]);
  });

  test('it is OpenAPI 3.1, and everything that it refers to is in it', () => {
    expect(document.openapi).toMatch(/^3\.1\.\d+$/);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    expect(document.info.version).toBe(version);
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const text = JSON.stringify(document);
    for (const [, kind, name] of text.matchAll(/"\$ref":"#\/components\/(\w+)\/([^"]+)"/g)) {
      const group = document.components[kind as keyof OpenApiDocument['components']];
      expect(Object.keys(group ?? {})).toContain(name);
    }
    expect(text.match(/"\$ref":"(?!#\/components\/)/g)).toBeNull();
    const tags = document.tags.map(({ name }) => name);
    for (const operation of operations) {
      expect(operation.summary).not.toBe('');
      // Shorter ones repeat the summary.
      expect([operation.operationId, operation.description.length > 40]).toEqual([
        operation.operationId,
        true,
      ]);
      expect(tags).toEqual(expect.arrayContaining(operation.tags));
      const schemes = operation.security.flatMap((one) => Object.keys(one));
      expect(Object.keys(document.components.securitySchemes)).toEqual(expect.arrayContaining(schemes));
      const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const declared = (operation.parameters ?? []).filter(({ in: where }) => where === 'path');
      expect(declared.map(({ name }) => name).sort()).toEqual(inPath.sort());
    }
  });

  test('every example is what its schema says', () => {
    const wrong: string[] = [];
    const check = (where: string, schema: Record<string, unknown> | undefined, value: unknown) => {
      for (const finding of findingsOf(schema, value)) wrong.push(`${where}: ${finding}`);
    };
    for (const { operationId, parameters = [], requestBody, responses } of operations) {
      for (const { name, schema, example } of parameters) {
        if (example !== undefined) check(`${operationId} ${name}`, schema, example);
      }
      for (const [type, { schema, examples = {} }] of Object.entries(requestBody?.content ?? {})) {
        for (const [name, { value }] of Object.entries(examples)) {
          check(`${operationId} ${type} ${name}`, schema, value);
        }
      }
      for (const [status, { content = {} }] of Object.entries(responses)) {
        for (const [type, media] of Object.entries(content)) {
          for (const [name, { $ref = '' }] of Object.entries(media.examples ?? {})) {
            const shared = document.components.examples[$ref.split('/').at(-1) ?? ''];
            check(`${operationId} ${status} ${name}`, media.schema, shared?.value);
          }
          if (type !== 'application/problem+json')
            check(`${operationId} ${status}`, media.schema, media.example);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  const doFirst: Record<NonNullable<Step['first']>, () => Promise<unknown>> = {
    'wait until all is sent': () =>
      until('everything is sent', async () => {
        const { rows } = await sql`select 1 from messages where state = 'accepted' limit 1`.execute(db);
        return rows.length === 0;
      }),
    'freeze the audience': async () => {
      const run = await db.selectFrom('runs').select('id').executeTakeFirstOrThrow();
      await freezeAudience(db, {
        runId: run.id,
        workspaceId: owner.workspace.id,
        channel: 'sms',
        contactListIds: [names.in(EXAMPLE.list)],
        placeholders: ['NAME', 'TOTAL'],
        campaignParams: { TOTAL: 10 },
      });
    },
    'offer the send': () => sql`update durable_sends set offered = true, state = 'sending'`.execute(db),
    'call the send back': () =>
      sql`update durable_sends set finished_at = now(), state = 'canceled'`.execute(db),
    'read the code of the moment': async () =>
      names.set(EXAMPLE.totpCode, totpCode(names.in(EXAMPLE.totpSecret), Math.floor(Date.now() / 30_000))),
    'end the run': () => sql`update runs set phase = 'canceled', finished_at = now()`.execute(db),
  };

  const titled = STORY.map((step, i): [string, Step] => [
    `${i + 1}: ${step.operation} ${step.example ?? step.contentType ?? ''} answers ${step.status}`,
    step,
  ]);

  test.each(titled)('as documented, %s', async (title, step) => {
    const operation = operationOf(step.operation);
    if (step.first) await doFirst[step.first]();
    const request = requestOf(operation, names, step);
    const takesKey = operation.parameters?.some(({ name }) => name === 'Idempotency-Key') ?? false;
    const send = () =>
      api.call(operation.method, request.path, {
        headers: {
          ...credentialsFor(operation),
          ...(takesKey ? { 'idempotency-key': title } : {}),
          ...step.headers,
        },
        ...(request.text === undefined ? {} : { body: request.text, type: request.contentType }),
      });
    const answer = await send();
    expect({ status: answer.status, body: answer.body }).toEqual({ status: step.status, body: answer.body });
    expectDocumented(operation, answer);

    const { media } = documentedFor(operation, answer);
    expectAsFull(media?.example, answer.body);
    names.learn(media?.example, answer.body);
    for (const [name, path] of Object.entries(step.learn ?? {})) {
      names.set(EXAMPLE[name as keyof typeof EXAMPLE], valueAt(answer.body, path));
    }
    sent.add(`${step.operation} ${request.contentType ?? ''} ${request.example ?? ''}`);
    answered.add(`${step.operation} ${step.status} ${documentedFor(operation, answer).type}`);

    if (!takesKey || STREAMED.includes(request.contentType ?? '')) return;
    const again = await send();
    expect([again.status, again.headers['idempotent-replay']]).toEqual([step.status, 'true']);
    expect(again.body).toEqual(answer.body);
  });

  test('every operation of the story that has an action has written an entry', async () => {
    const { rows } = await sql<{ action: string }>`
      select distinct action from audit_entries where result = 'ok'`.execute(db);
    const written = rows.map(({ action }) => action);
    const reached = [...answered].map((one) => AUDITED_OPERATIONS[one.split(' ')[0] as string]);
    const actions = reached.flatMap((rule) => (rule && 'action' in rule ? [rule.action] : []));
    expect(actions.length).toBeGreaterThan(40);
    // These changed nothing: the colleague of the examples has no codes that an administrator could turn off, the campaign
    // had been started by its creation, and no recipient of it had failed.
    const unchanged = ['totp.reset', 'campaign.start', 'campaign.retry-failed'];
    expect(actions.filter((action) => !written.includes(action))).toEqual(unchanged);
  });

  test('every documented request was sent, and every documented success was answered', () => {
    const requests = operations.flatMap(({ operationId, requestBody }) =>
      requestBody
        ? Object.entries(requestBody.content).flatMap(([type, { examples = {} }]) =>
            Object.keys(examples).map((name) => `${operationId} ${type} ${name}`),
          )
        : [`${operationId}  `],
    );
    expect({ notSent: requests.filter((one) => !sent.has(one)) }).toEqual({ notSent: [] });
    const successes = operations.flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .flatMap(([status, { content = {} }]) =>
          Object.keys(content).map((type) => `${operationId} ${status} ${type}`),
        ),
    );
    expect({ notAnswered: successes.filter((one) => !answered.has(one)) }).toEqual({ notAnswered: [] });
  });

  /** Something wrong for every body that there is. */
  const WRONG_SHAPE = {
    ...{ name: 7, messages: 7, contacts: 7, type: 7, to: 7, overlapHours: 'x', password: 7, role: 7 },
    ...{ grant_type: 'client_credentials', valid_hour: 'x' },
  };

  /** Each spoils a good request in one way; the status is the one to expect wherever it is documented. */
  const SPOILED: [
    string,
    number,
    (operation: Documented) => Parameters<WholeApi['call']>[2] & { path?: string },
  ][] = [
    // From elsewhere: on the same machine, metrics are open.
    ['without credentials', 401, () => ({ headers: { 'x-forwarded-for': '192.0.2.1' } })],
    ['with a body that is no JSON', 400, () => ({ body: '{' })],
    ['with a body of an unknown type', 415, () => ({ body: 'x', type: 'application/x-unknown' })],
    [
      'with a body of a type that only other operations take',
      415,
      ({ requestBody }) => ({
        body: 'a\nb\n',
        type: ['text/csv', 'application/x-ndjson', 'application/x-unknown'].find(
          (type) => requestBody?.content[type] === undefined,
        ),
      }),
    ],
    ['with a body of a wrong shape', 422, () => ({ body: WRONG_SHAPE })],
  ];

  test.each(SPOILED)('a request %s is refused as documented', async (_, status, spoil) => {
    const concerned = operations.filter(
      ({ responses, requestBody, operationId }) =>
        responses[status] !== undefined &&
        (status === 401 ? operationId !== 'logIn' : requestBody !== undefined),
    );
    expect(concerned.length).toBeGreaterThan(10);
    for (const operation of concerned) {
      const { path } = requestOf(operation, names);
      const { headers = await freshCredentials(operation), ...spoiled } = spoil(operation);
      const answer = await api.call(operation.method, path, { headers, ...spoiled });
      expectDocumented(operation, answer);
      const what = operation.operationId;
      // What the story has archived or deleted is gone, which some of them notice first.
      expect([what, answer.status]).toEqual([what, answer.status === 404 ? 404 : status]);
    }
  });

  test('an unknown id or secret is answered as documented', async () => {
    const nobody = new Names();
    nobody.set('order-4711-ready', 'nobody-sent-this');
    for (const operation of operations) {
      if (!operation.parameters?.some(({ in: where }) => where === 'path')) continue;
      if (operation.tags[0] === 'Holds') continue;
      const { path, text, contentType } = requestOf(operation, nobody);
      const answer = await api.call(operation.method, path.replace('reference.css', 'nothing.css'), {
        headers: await freshCredentials(operation),
        ...(text === undefined ? {} : { body: text, type: contentType }),
      });
      expect([operation.operationId, answer.status]).toEqual([operation.operationId, 404]);
      expectDocumented(operation, answer);
    }
  });

  test('a query about a campaign that does not exist, or too long a query, is answered as documented', async () => {
    const explaining = operationOf('explainPerson');
    const headers = await freshCredentials(explaining);
    const unknown = await api.call('GET', '/api/explain?campaign=cmp_none&to=ada@example.com', { headers });
    expect(unknown.status).toBe(404);
    expectDocumented(explaining, unknown);
    for (const id of ['readStories', 'listTemplates']) {
      const operation = operationOf(id);
      const path = `${operation.path}?channel=sms&uids=${'%C2%8F'.repeat(4_000)}`;
      const answer = await api.call('GET', path, { headers: await freshCredentials(operation) });
      expect([id, answer.status]).toEqual([id, 431]);
      expectDocumented(operation, answer);
    }
  });

  /** The story ends with logging out. */
  async function freshCredentials(operation: Documented): Promise<Record<string, string>> {
    if (!('session' in (operation.security[0] ?? {}))) return credentialsFor(operation);
    const { token } = await api.identity.login({ ...owner.user, address: 'tests' });
    return { cookie: `session_token=${token}`, 'x-user-id': owner.user.id };
  }
});

/** Where the example of an answer has items, the answer has some too: an empty list fits every schema. */
function expectAsFull(example: unknown, answer: unknown): void {
  const data = (body: unknown) => (body as { data?: unknown } | undefined)?.data;
  const [shown, got] = [data(example), data(answer)];
  if (Array.isArray(shown) && shown.length > 0) expect(got).not.toEqual([]);
}

function valueAt(root: unknown, path: string): string {
  return String(path.split('.').reduce((at, key) => (at as Record<string, unknown>)[key], root));
}
