import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ApiClient, createSmsTemplate } from '../support/api-client';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';
import { freshNamespace } from '../support/namespaces';
import { ROOT } from '../support/root';

const run = promisify(execFile);

/** A backend's program; it has the package and nothing else installed. */
const PROGRAM = `
import { readFileSync } from 'node:fs';
import { FanfareClient, FanfareError } from 'fanfare/client';

const { baseUrl, client, apiKey, templateId } = JSON.parse(readFileSync(0, 'utf8'));
const fanfare = new FanfareClient({ baseUrl, clientId: client.id, clientSecret: client.secret, apiKey });

const list = await fanfare.createContactList('From outside');
const report = await fanfare.importContacts(list.id, 'externalId,name,phone\\n1,Ann,+12125550190\\n2,Bob,+12125550194\\n');
const campaign = {
  name: 'From outside',
  channel: ['sms'],
  settings: { sms: { shortCode: '12345', templateId, version: 1 } },
  contactListId: [list.id],
  start: false,
};
const dry = await fanfare.dryRun(campaign);
const draft = await fanfare.createCampaign(campaign);
await fanfare.start(draft.id);
const phases = [];
for await (const { phase } of fanfare.watch(draft.id)) phases.push(phase);
const ended = await fanfare.waitForEnd(draft.id);
const states = [];
for await (const { state } of fanfare.recipients(draft.id, { pageSize: 1 })) states.push(state);

const message = { channel: 'sms', to: '+12125550190', from: '12345', 'template-id': templateId, params: { NAME: 'Ada' } };
await fanfare.send({ ...message, uid: 'from-outside' });
const sent = await fanfare.waitForOutcome('from-outside');
const durable = await fanfare.sendDurable({ ...message, uid: 'from-outside-durable' });
const outcome = await fanfare.waitForOutcome(durable.id);
const refused = await fanfare.campaign('cmp_none').catch((error) => error);

console.log(JSON.stringify({
  created: report.created,
  recipients: dry.channels.sms.recipients,
  first: draft.phase,
  last: phases.at(-1),
  total: ended.counts.sms.total,
  states: states.length,
  sent: sent.state,
  durable: outcome.state,
  refused: [refused instanceof FanfareError, refused.status, refused.code],
}));
`;

const TYPED = `
import { FanfareClient, type Campaign, FanfareError } from 'fanfare/client';

export async function send(fanfare: FanfareClient): Promise<Campaign> {
  const made = await fanfare.createCampaign({
    name: 'C',
    channel: ['sms'],
    settings: { sms: { shortCode: '12345', templateId: 't', version: 1 } },
    contactListId: ['l'],
    delivery: { retry: { maxAttempts: 3 } },
  });
  for await (const progress of fanfare.watch(made.id)) console.log(progress.counts.sms?.delivered);
  for await (const { id, state } of fanfare.messages.list({ state: 'failed' })) console.log(id, state);
  for await (const { events, next } of fanfare.messages.events()) console.log(events[0]?.uid, next);
  // @ts-expect-error An SMS template has a text.
  await fanfare.templates.create({ channel: 'sms', templateName: 'T' });
  // @ts-expect-error A channel is one of three.
  await fanfare.send({ channel: 'fax', uid: 'u', to: 't', from: 'f' });
  try {
    await fanfare.sendDurable({ channel: 'sms', uid: 'u', to: 't', from: 'f', retry: { backoff: 2 } });
  } catch (error) {
    if (error instanceof FanfareError) console.log(error.errors[0]?.path, error.retryAfterMs);
  }
  return fanfare.waitForEnd(made.id);
}
`;

const TESTS = 'node_modules/@fanfare/test';

describe('the package from outside', () => {
  let outside: string;
  let installed: string;
  let place: Place;
  let fanfare: FanfareProcess;

  beforeAll(async () => {
    outside = mkdtempSync(join(tmpdir(), 'fanfare-outside-'));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    await run(process.execPath, [tsc, '-p', join(ROOT, 'tsconfig.client.json')]);
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', outside], { cwd: ROOT });
    const packed = readdirSync(outside).find((name) => name.endsWith('.tgz')) ?? '';
    installed = join(outside, 'node_modules/fanfare');
    mkdirSync(installed, { recursive: true });
    await run('tar', ['-xzf', join(outside, packed), '--strip-components=1', '-C', installed]);
    writeFileSync(join(outside, 'package.json'), '{"type": "module"}');

    const { address, namespace } = await freshNamespace();
    place = await makePlace({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
    fanfare = startFanfare(place);
    await untilReady(fanfare);
  }, 180_000);
  afterAll(async () => {
    await fanfare?.stop();
    await place?.remove();
    rmSync(outside, { recursive: true, force: true });
  });

  test('drives a campaign and single messages to their ends, with nothing else installed', async () => {
    const credentials = readCredentials(place);
    const api = new ApiClient(fanfare.baseUrl, credentials);
    const templateId = await createSmsTemplate(api);
    await api.close();
    writeFileSync(join(outside, 'program.mjs'), PROGRAM);
    const running = run(process.execPath, ['program.mjs'], { cwd: outside, timeout: 100_000 });
    running.child.stdin?.end(JSON.stringify({ ...credentials, baseUrl: fanfare.baseUrl, templateId }));
    const { stdout } = await running;
    expect(JSON.parse(stdout)).toMatchObject({
      created: 2,
      recipients: 2,
      first: 'draft',
      last: 'completed',
      total: 2,
      states: 2,
      sent: 'delivered',
      durable: 'delivered',
      refused: [true, 404, 'not_found'],
    });
  }, 120_000);

  test('brings along what no registry has, and that needs nothing else', async () => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { link?: boolean }>;
    };
    // The packages of the tests stay here.
    const ours = Object.keys(packages).filter((path) => packages[path]?.link && path !== TESTS);
    expect(ours).not.toEqual([]);
    for (const path of ours) {
      const shown = 'console.log(Object.keys(require(process.argv[1])).length > 0)';
      const { stdout } = await run(process.execPath, ['-e', shown, join(installed, path)], { cwd: outside });
      expect([path, stdout.trim()]).toEqual([path, 'true']);
    }
  });

  test('is found by require as well, and is the same class with the same parts', async () => {
    const shown =
      'const one = new FanfareClient({ baseUrl: "http://127.0.0.1:1", clientId: "c", clientSecret: "s" });' +
      'console.log(Object.keys(one).sort().join(), new FanfareError("", { code: "c", status: 1 }).code);';
    const required = `const { FanfareClient, FanfareError } = require('fanfare/client');${shown}`;
    const imported = `import { FanfareClient, FanfareError } from 'fanfare/client';${shown}`;
    writeFileSync(join(outside, 'required.cjs'), required);
    writeFileSync(join(outside, 'imported.mjs'), imported);
    const answers = await Promise.all(
      ['required.cjs', 'imported.mjs'].map((file) => run(process.execPath, [file], { cwd: outside })),
    );
    expect(answers[0]?.stdout).toContain('campaigns,contacts,messages,');
    expect(answers[0]?.stdout).toBe(answers[1]?.stdout);
  });

  test('has types that need nothing but those of Node', async () => {
    writeFileSync(join(outside, 'typed.ts'), TYPED);
    const options = {
      module: 'node16',
      target: 'es2023',
      strict: true,
      noEmit: true,
      types: ['node'],
      typeRoots: [join(ROOT, 'node_modules/@types')],
    };
    writeFileSync(
      join(outside, 'tsconfig.json'),
      JSON.stringify({ compilerOptions: options, files: ['typed.ts'] }),
    );
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const checked = await run(process.execPath, [tsc, '-p', outside]).catch((error) => error);
    expect(checked.stdout).toBe('');
  }, 150_000);
});
