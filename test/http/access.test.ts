/** Proves that each operation takes the roles and scopes that docs/access.md lists, and no others. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hasRole, ROLES, type Role, SCOPES, type Scope } from '../../src/domain/access';
import { ROOT } from '../support/root';
import { describeWithDatabase } from '../support/storage';

import { type Documented, operationsOf } from './openapi-driver';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

/** What has no caller, or one who proves itself otherwise. */
const isOpen = ({ 'x-access': access }: Documented) => access === undefined;
/** Metrics need no credentials on the machine itself, where this test runs. */
const isChecked = (operation: Documented) => !isOpen(operation) && operation.operationId !== 'readMetrics';

/** A row of the table with the end of its line. */
const ROW = /^\| `[A-Z]+ \/.*\n/gm;
const byPath = (one: string, other: string) => (pathOf(one) < pathOf(other) ? -1 : 1);
/** The path before the method, so that what concerns one thing stands together. */
const pathOf = (row: string) => row.replace(/^\| `([A-Z]+) ([^`]*)`.*/, '$2 $1');

describeWithDatabase('access', (database) => {
  let api: WholeApi;
  let operations: Documented[];
  const cookies = {} as Record<Role, string>;
  let clientOf: (scopes: Scope[]) => Promise<string>;
  let keyOf: (scopes: Scope[]) => Promise<string>;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    operations = operationsOf((await api.call('GET', '/openapi.json')).body);
    const owner = await newWorkspace(api.identity);
    const workspaceId = owner.workspace.id;
    const { users, clients, apiKeys } = api.identity;
    for (const role of ROLES) {
      const email = `${role}@access.example`;
      const { password } = await users.create({ workspaceId, role: 'owner' }, { email, role });
      const { token } = await api.identity.login({ email, password, address: 'tests' });
      const userId = await api.identity.bySession(token);
      cookies[role] = `session_token=${token}`;
      headersOf[role] = { cookie: cookies[role], 'x-user-id': userId?.userId ?? '' };
    }
    clientOf = async (scopes) => {
      const { client, secret } = await clients.create(workspaceId, { name: 'Test', scopes });
      return bearerFor(api.identity, { ...owner, client: { ...client, secret } });
    };
    keyOf = async (scopes) => (await apiKeys.create(workspaceId, { name: 'Test', scopes })).key;
  });
  afterAll(() => api.stop());

  const headersOf = {} as Record<Role, Record<string, string>>;

  /** A request that does nothing: it names a thing that does not exist, or lacks its body. */
  const probe = async ({ method, path }: Documented, headers: Record<string, string>, body?: unknown) => {
    const answer = await api.call(method, path.replace(/\{\w+\}/g, 'unknown'), {
      headers,
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, code: answer.body?.code, scope: answer.body?.scope };
  };

  test('docs/access.md has the row of every operation', () => {
    const file = join(ROOT, 'docs/access.md');
    const rows = operations
      .filter((operation) => !isOpen(operation))
      .map(rowOf)
      .sort(byPath);
    const page = readFileSync(file, 'utf8');
    // `WRITE_ACCESS=1` writes the table anew after a change of the API.
    if (process.env.WRITE_ACCESS) {
      const others = page.replace(ROW, '');
      const table = rows.map((row) => `${row}\n`).join('');
      writeFileSync(file, others.slice(0, page.search(ROW)) + table + others.slice(page.search(ROW)));
    }
    expect(
      readFileSync(file, 'utf8')
        .match(ROW)
        ?.map((row) => row.trimEnd()),
    ).toEqual(rows);
  });

  test('every role may do what the table says, and nothing else', async () => {
    // All but logging out, which every user may, and which would end the sessions that the others need.
    const tried = operations.filter((one) => isChecked(one) && one.operationId !== 'logOut');
    const found: string[] = [];
    const expected: string[] = [];
    for (const operation of tried) {
      const takesUsers = operation.security.some((one) => 'session' in one);
      if (!takesUsers) continue;
      const { role: lowest } = operation['x-access'] ?? {};
      for (const role of ROLES) {
        const { status, code } = await probe(operation, headersOf[role]);
        const name = `${role} ${operation.operationId}`;
        found.push(`${name}: ${status === 403 || status === 401 ? code : 'taken'}`);
        expected.push(`${name}: ${lowest && hasRole(role, lowest) ? 'taken' : 'forbidden'}`);
      }
    }
    expect(found).toEqual(expected);
  }, 300_000);

  test('every scope may do what the table says, and nothing else', async () => {
    const key = await keyOf([...SCOPES]);
    const bearers = await Promise.all(SCOPES.map(async (scope) => [scope, await clientOf([scope])] as const));
    const found: string[] = [];
    const expected: string[] = [];
    for (const operation of operations.filter(isChecked)) {
      const { scopes: needed } = operation['x-access'] ?? {};
      if (operation.security.every((one) => 'client' in one)) continue;
      for (const [scope, authorization] of bearers) {
        const answer = await probe(operation, { authorization, 'x-api-key': key });
        const name = `${scope} ${operation.operationId}`;
        const missing = needed?.find((one) => one !== scope);
        found.push(`${name}: ${said(answer)}`);
        // What is for people alone asks for a session, or says that a client is none.
        const refused = needed ? `scope_missing ${missing}` : said(answer).replace(/^taken$/, 'refused');
        expected.push(`${name}: ${needed && missing === undefined ? 'taken' : refused}`);
      }
      if (!needed) continue;
      const authorization = await clientOf([...needed]);
      found.push(
        `${operation.operationId}: ${said(await probe(operation, { authorization, 'x-api-key': key }))}`,
      );
      expected.push(`${operation.operationId}: taken`);
    }
    expect(found).toEqual(expected);
  }, 300_000);

  test('where a key and a token are needed, both need the scope', async () => {
    const all = await clientOf([...SCOPES]);
    const reading = await keyOf(['read']);
    const sending = operations.filter(({ security }) => security.some((one) => 'apiKey' in one));
    expect(sending.length).toBeGreaterThan(5);
    for (const operation of sending) {
      const answer = await probe(operation, { authorization: all, 'x-api-key': reading });
      const readable = operation['x-access']?.scopes?.[0] === 'read';
      expect([operation.operationId, said(answer)]).toEqual([
        operation.operationId,
        readable ? 'taken' : 'scope_missing send',
      ]);
    }
  });

  test('a campaign that starts needs more than one that does not', async () => {
    const create = operations.find(({ operationId }) => operationId === 'createCampaign') as Documented;
    const status = async (headers: Record<string, string>, body: unknown) =>
      said(await probe(create, headers, body));
    expect(await status(headersOf.editor, { name: 'x' })).toBe('forbidden');
    expect(await status(headersOf.editor, { name: 'x', start: false })).toBe('taken');
    expect(await status(headersOf.editor, { name: 'x', campaignId: 'cmp_x' })).toBe('taken');
    expect(await status(headersOf.editor, { name: 'x', campaignId: 'cmp_x', start: true })).toBe('forbidden');
    expect(await status(headersOf.sender, { name: 'x' })).toBe('taken');
    const campaigns = { authorization: await clientOf(['campaigns']) };
    expect(await status(campaigns, { name: 'x' })).toBe('scope_missing send');
    expect(await status(campaigns, { name: 'x', start: false })).toBe('taken');
    const both = { authorization: await clientOf(['campaigns', 'send']) };
    expect(await status(both, { name: 'x' })).toBe('taken');
  });

  test('an editor changes no pace, and sends tests only to users of the workspace', async () => {
    const change = operations.find(({ operationId }) => operationId === 'changeCampaign') as Documented;
    const pace = { delivery: { ratePerSecond: 5 } };
    expect(said(await probe(change, headersOf.editor, pace))).toBe('forbidden');
    expect(said(await probe(change, headersOf.sender, pace))).toBe('taken');
    const trial = operations.find(({ operationId }) => operationId === 'sendTestMessage') as Documented;
    const to = (address: string) => ({ to: address, from: 'shop@example.com', params: {} });
    expect(said(await probe(trial, headersOf.editor, to('Viewer@access.example')))).toBe('taken');
    expect(said(await probe(trial, headersOf.editor, to('stranger@access.example')))).toBe('forbidden');
    expect(said(await probe(trial, headersOf.sender, to('stranger@access.example')))).toBe('taken');
  });
});

const said = ({ status, code, scope }: { status: number; code?: string; scope?: string }): string =>
  status === 401 || status === 403 ? [code, scope].filter(Boolean).join(' ') : 'taken';

const marked = (values: readonly string[]) => values.map((value) => `\`${value}\``).join(' and ');

function rowOf({ method, path, 'x-access': access }: Documented): string {
  const { role, scopes, more } = access ?? {};
  const further = more ? [more.role ?? '', ...(more.scopes ?? [])].filter((one) => one !== '') : [];
  return [
    `| \`${method} ${path}\``,
    role ? `\`${role}\`` : 'no user',
    scopes ? marked(scopes) : 'no client',
    more ? `${more.when}: ${marked(further)} |` : '|',
  ].join(' | ');
}
