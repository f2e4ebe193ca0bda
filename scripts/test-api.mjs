import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { prepare } from './prepare.mjs';

/**
 * `npm run test:api`: Schemathesis, a property-based tester of APIs (PyPI), over the whole of `/openapi.json`, with
 * every kind of credentials, against a `fanfare up` of its own. It fails for a 5xx, for a status or a content type that
 * is not documented, and for an answer that its schema refuses. Further arguments go to `schemathesis run`.
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const PROGRAM = process.env.SCHEMATHESIS ?? 'schemathesis';
const READY_LIMIT_MS = 120_000;

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
];

/** What ends sessions, or makes logging in need more than a password. Each is tested at the end, by a user of its own. */
const ENDS_SESSIONS = [
  'logOut',
  'endOwnSession',
  'changeOwnPassword',
  'setUpTotp',
  'turnOffTotp',
  'resetTotp',
];

/** How to write a content type that Schemathesis does not know. */
const HOOKS = `import schemathesis

@schemathesis.serializer("application/x-ndjson")
def ndjson(ctx, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
`;

/** Few enough for a quarter of an hour on two cores. `--max-examples` of the command line says otherwise. */
const EXAMPLES = '25';

await prepare();
const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-api-'));
const instance = await startInstance();
// Without this, what ends this script would leave its servers behind.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => instance.child.kill('SIGTERM'));
let code = 0;
try {
  await untilReady(instance);
  const access = await credentialsOf(instance);
  const api = openApi(instance.baseUrl, access);
  const { spare, things } = await makeThings(api, access);
  // Once with ids that exist, and once with whatever ids it thinks of.
  for (const ids of [{ ...things, ...spare }, spare]) {
    const ofPass = await credentialsOf(instance);
    const but = ENDS_SESSIONS.flatMap((id) => ['--exclude-operation-id', id]);
    code = Math.max(code, await runSchemathesis(instance.baseUrl, ofPass, ids, but));
    // Refusals are documented: without credentials that are still good, nothing has been tested.
    await checkAccess(instance.baseUrl, ofPass);
  }
  const choosesOperations = process.argv.some((argument) => argument.startsWith('--include-'));
  for (const id of choosesOperations ? [] : ENDS_SESSIONS) {
    const session = await sessionOfAnother(api, instance.baseUrl, `${id}@example.com`);
    const only = ['--include-operation-id', id];
    code = Math.max(code, await runSchemathesis(instance.baseUrl, { ...access, session }, spare, only));
  }
} catch (error) {
  process.stderr.write(`${error.message}\n${instance.output()}`);
  code = 1;
} finally {
  instance.child.kill('SIGTERM');
  await instance.exited;
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}
process.exitCode = code;

async function startInstance() {
  const port = await freePort();
  const child = spawn(process.execPath, [join(ROOT, 'dist/src/main.js'), 'up'], {
    cwd: directory,
    env: {
      ...process.env,
      FANFARE_DATA_DIR: join(directory, 'data'),
      FANFARE_HTTP_PORT: String(port),
      LOG_LEVEL: 'error',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      output = (output + chunk).slice(-20_000);
    });
  }
  const exited = new Promise((resolve) => child.once('exit', resolve));
  return { child, exited, output: () => output, baseUrl: `http://127.0.0.1:${port}` };
}

async function untilReady({ baseUrl, child }) {
  const deadline = Date.now() + READY_LIMIT_MS;
  while (Date.now() < deadline && child.exitCode === null) {
    const answer = await fetch(`${baseUrl}/readyz`).catch(() => undefined);
    if (answer?.status === 200) return;
    await delay(250);
  }
  throw new Error(`fanfare up was not ready within ${READY_LIMIT_MS / 1000} s`);
}

async function credentialsOf({ baseUrl }) {
  const { user, client, apiKey, inboundSecret } = JSON.parse(
    readFileSync(join(directory, 'data/credentials.json'), 'utf8'),
  );
  const token = await post(
    `${baseUrl}/api/v1/auth/token`,
    { grant_type: 'client_credentials' },
    {
      authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
    },
  );
  return {
    client,
    apiKey,
    inboundSecret,
    bearer: (await token.json()).access_token,
    session: await logIn(baseUrl, user),
  };
}

async function sessionOfAnother(api, baseUrl, email) {
  const { data } = await api.administer('/api/admin/users', { email, role: 'admin' });
  return logIn(baseUrl, { email, password: data.password });
}

async function logIn(baseUrl, { email, password }) {
  const answer = await post(`${baseUrl}/api/session`, { email, password });
  const cookie = answer.headers.get('set-cookie').split(';')[0];
  return cookie.slice(cookie.indexOf('=') + 1);
}

async function post(url, body, headers = {}) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`POST ${url} answered ${answer.status}`);
  return answer;
}

/** Secrets stand in a file of this directory, not in arguments, which every process can list. */
function runSchemathesis(baseUrl, { client, apiKey, bearer, session }, ids, which) {
  const of = (scheme, settings) => [
    `[auth.openapi.${scheme}]`,
    ...Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}`),
  ];
  const settings = [
    'hooks = "hooks"',
    ...of('client', { username: client.id, password: client.secret }),
    ...of('bearer', { bearer }),
    ...of('apiKey', { api_key: apiKey }),
    ...of('session', { api_key: session }),
    ...Object.entries(ids).flatMap(([operation, parameters]) => [
      '[[operations]]',
      `include-operation-id = ${JSON.stringify(operation)}`,
      '[operations.parameters]',
      ...Object.entries(parameters).map(
        ([name, value]) => `"${name.includes('.') ? name : `path.${name}`}" = ${JSON.stringify(value)}`,
      ),
    ]),
  ];
  const file = join(directory, 'schemathesis.toml');
  writeFileSync(file, `${settings.join('\n')}\n`, { mode: 0o600 });
  writeFileSync(join(directory, 'hooks.py'), HOOKS);
  const args = [
    ...['--config-file', file, 'run', `${baseUrl}/openapi.json`],
    ...['--checks', CHECKS.join(','), '--max-examples', EXAMPLES, '--phases', 'examples,coverage,fuzzing'],
    ...['--request-timeout', '25', '--suppress-health-check', 'all', '--continue-on-failure'],
    ...which,
    ...process.argv.slice(2),
  ];
  return new Promise((resolve, reject) => {
    const child = spawn(PROGRAM, args, {
      cwd: directory,
      stdio: 'inherit',
      env: { ...process.env, PYTHONPATH: directory },
    });
    child.once('exit', (exitCode) => resolve(exitCode ?? 1));
    child.once('error', (error) =>
      reject(
        error.code === 'ENOENT'
          ? new Error(`${PROGRAM} is not installed. See "The API under random input" in docs/development.md.`)
          : error,
      ),
    );
  });
}

function openApi(baseUrl, { apiKey, bearer, session }) {
  const backend = { 'x-api-key': apiKey, authorization: `Bearer ${bearer}` };
  return {
    document: async () => (await fetch(`${baseUrl}/openapi.json`)).json(),
    create: async (path, body) => (await post(`${baseUrl}${path}`, body, backend)).json(),
    administer: async (path, body) =>
      (await post(`${baseUrl}${path}`, body, { cookie: `session_token=${session}` })).json(),
  };
}

/**
 * Something for each operation with an id in its path, of its own, so that what one operation ends is still there for
 * the others. `spare` is for operations that could take away the credentials of this run.
 */
async function makeThings(api, { inboundSecret }) {
  const { data: user } = await api.administer('/api/admin/users', { email: 'spare@example.com' });
  const { data: client } = await api.administer('/api/admin/clients', { name: 'Spare' });
  const { data: key } = await api.administer('/api/admin/api-keys', { name: 'Spare' });
  const spare = {
    changeUser: { id: user.id },
    disableUser: { id: user.id },
    enableUser: { id: user.id },
    resetPassword: { id: user.id },
    rotateSecret: { id: client.id },
    disableClient: { id: client.id },
    enableClient: { id: client.id },
    revokeApiKey: { id: key.id },
  };
  const make = makers(api);
  // Without the secret, whatever a carrier reports is a 404.
  const carrier = { secret: inboundSecret };
  const things = { reportReceipts: carrier, reportByKannel: carrier, reportByKannelPosted: carrier };
  for (const [path, methods] of Object.entries((await api.document()).paths)) {
    const prefix = path.slice(0, Math.max(0, path.indexOf('/{')));
    if (!make[prefix]) continue;
    for (const { operationId } of Object.values(methods)) {
      things[operationId] = await make[prefix]();
    }
  }
  // The progress of a campaign that has ended comes at once, that of another one for as long as it goes on.
  const ended = await make['/api/campaign']();
  await api.create(`/api/campaign/${ended.id}/cancel`, {});
  spare.watchCampaign = ended;
  // A long poll would wait here for what nothing causes.
  spare.readEvents = { 'query.wait': '0' };
  return { spare, things };
}

function makers({ create }) {
  let made = 0;
  const template = async () => {
    const body = { templateName: `Template ${++made}`, body: 'Hello {{NAME}}', channel: 'sms' };
    return (await create('/api/template', body)).template.id;
  };
  const list = async () => {
    const { data } = await create('/api/contact-list', { name: `List ${++made}` });
    const contact = { externalId: `c-${made}`, phone: `+1202555${1000 + made}`, name: 'Ada' };
    await create(`/api/contact-list/${data.id}/contacts`, { contacts: [contact] });
    return data.id;
  };
  const message = async () => ({
    ...{ channel: 'sms', uid: `uid-${++made}`, to: '+12025550123', from: '12345' },
    ...{ 'template-id': await template(), params: { NAME: 'Ada' }, sendAt: new Date(Date.now() + 3_600_000) },
  });
  return {
    '/api/template': async () => ({ id: await template() }),
    '/api/contact-list': async () => ({ id: await list() }),
    '/api/campaign': async () => {
      const settings = { sms: { shortCode: '12345', templateId: await template(), version: 1 } };
      const body = {
        ...{ campaignId: null, name: `Campaign ${made}` },
        channel: ['sms'],
        settings,
        start: false,
      };
      const { data } = await create('/api/campaign', { ...body, contactListId: [await list()] });
      return { id: data.id };
    },
    '/api/webhook': async () => {
      const { data } = await create('/api/webhook', {
        url: 'https://example.com/hook',
        events: ['message.*'],
      });
      return { id: data.id };
    },
    '/api/send': async () => ({ id: (await create('/api/send', await message())).data.id }),
    '/messages': async () => ({ uid: (await create('/send-msg', await message())).data.uid }),
  };
}

async function checkAccess(baseUrl, { apiKey, bearer, session }) {
  const answers = await Promise.all([
    fetch(`${baseUrl}/api/session`, { headers: { cookie: `session_token=${session}` } }),
    fetch(`${baseUrl}/messages?limit=1`, {
      headers: { 'x-api-key': apiKey, authorization: `Bearer ${bearer}` },
    }),
  ]);
  for (const { status, url } of answers) {
    if (status !== 200)
      throw new Error(`The credentials of the run are refused by now: ${url} answers ${status}`);
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
