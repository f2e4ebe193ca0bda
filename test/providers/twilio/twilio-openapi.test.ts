/**
 * Proves that every request to Twilio is legal by Twilio's own OpenAPI document, and that the stand-in answers by it. The document
 * is that of the npm package @twilio/cli-core 8.3.2, cut to the paths in use.
 */

import Ajv, { type ValidateFunction } from 'ajv';
import type { HandOver, Provider } from '../../../src/providers/provider';
import { TWILIO } from '../../../src/providers/twilio/twilio';
import type { VendorAccount } from '../../../src/providers/vendor/vendor';
import { type FakeTwilio, startFakeTwilio } from '../../support/fake-twilio';
import document from './twilio-openapi.json';

type Schema = Record<string, unknown>;
interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

const PATHS = document.paths as unknown as Record<string, Record<string, Operation>>;
const FORM = 'application/x-www-form-urlencoded';

const ajv = new Ajv({ strict: false, coerceTypes: 'array' });
ajv.addSchema({ ...document, $id: 'twilio' });

/** References lead into the document; a member that it does not name is a mistake of ours. */
function closed(schema: Schema): ValidateFunction {
  const text = JSON.stringify({ ...schema, additionalProperties: false });
  return ajv.compile(JSON.parse(text.replaceAll('"#/', '"twilio#/')));
}

const fieldsOf = (form: URLSearchParams) => {
  const names = [...new Set(form.keys())];
  return Object.fromEntries(
    names.map((name) => [name, form.getAll(name).length > 1 ? form.getAll(name) : form.get(name)]),
  );
};

/** What is wrong with a request by the document, or where in it the request stands. */
function judge({ method, path, form }: Pick<FakeTwilio['requests'][number], 'method' | 'path' | 'form'>) {
  const { pathname, searchParams } = new URL(path, 'http://twilio');
  const found = Object.entries(PATHS).find(([template]) => patternOf(template).test(pathname));
  const operation = found?.[1][method.toLowerCase()];
  if (!found || !operation) return { wrong: `${method} ${pathname} is not in the document` };
  const inQuery = (operation.parameters ?? []).filter((one) => one.in === 'query');
  const query = closed({
    type: 'object',
    properties: Object.fromEntries(inQuery.map(({ name, schema }) => [name, schema])),
    required: inQuery.filter(({ required }) => required).map(({ name }) => name),
  });
  const body = operation.requestBody && closed(operation.requestBody.content[FORM]?.schema ?? {});
  const wrong = [
    ...(query(fieldsOf(searchParams)) ? [] : (query.errors ?? [])),
    ...(!body || body(fieldsOf(form)) ? [] : (body.errors ?? [])),
  ];
  return wrong.length > 0 ? { wrong } : { at: `${method} ${found[0].replace(/.*\{AccountSid\}/, '')}` };
}

const patternOf = (template: string) =>
  new RegExp(`^${template.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[A-Z]{2}[0-9a-fA-F]{32}')}$`);

describe('by Twilio’s own document', () => {
  let fake: FakeTwilio;
  const open: Provider[] = [];

  beforeAll(async () => {
    fake = await startFakeTwilio();
  });
  afterAll(async () => {
    for (const provider of open) await provider.close();
    await fake.close();
  });

  const account = (settings: Record<string, string> = {}): VendorAccount => ({
    id: 'acc_1',
    settings: { accountSid: fake.account.accountSid, url: fake.url, ...settings },
    secrets: { authToken: fake.account.authToken },
  });
  const provider = (channel: 'sms' | 'voice', settings?: Record<string, string>) => {
    const opened = TWILIO.open({
      ...{ channel, account: account(settings) },
      addresses: {
        callback: (id) => `https://fanfare.example/inbound/twilio/acc_1?m=${id}`,
        document: (path) => `https://fanfare.example/calls/${path}`,
      },
      calls: { begin: async () => ({ path: 'token/start' }), drop: async () => undefined },
    });
    open.push(opened);
    return opened;
  };
  const message = (more: Partial<HandOver>): HandOver => ({
    ...{ id: 'msg_1', uid: 'u1', channel: 'sms', to: '+12025550190', from: '+12125550100', attempt: 1 },
    ...{ text: 'Grüße & 1+1', ...more },
  });
  const doubt = { id: 'msg_1', to: '+12025550190', from: '+12125550100', text: 'Hi', sinceMs: 0, untilMs: 1 };
  const idOf = (result: unknown) => (result as { providerId: string }).providerId;

  test('each request of SMS and calls is legal, and none of the document’s that we use was left out', async () => {
    const sms = provider('sms', { messagingServiceSid: `MG${'a'.repeat(32)}` });
    const plain = provider('sms');
    const voice = provider('voice');
    const expiresAt = new Date(Date.now() + 7_200_000).toISOString();
    await sms.handOver([message({ expiresAt })]);
    await plain.handOver([message({ from: 'Harbour' })]);
    await sms.lookUp?.(doubt);
    await plain.lookUp?.(doubt);
    const calls = ['hangup', 'leave_message', 'speak'] as const;
    for (const machine of calls) {
      const [call] = await voice.handOver([
        message({ channel: 'voice', xml: '<Response/>', voice: { machine, ringTimeoutSeconds: 30 } }),
      ]);
      await TWILIO.voice?.steer(account(), idOf(call), { url: 'https://fanfare.example/calls/t' });
      await TWILIO.voice?.steer(account(), idOf(call), { hangUp: true });
      await voice.withdraw?.(idOf(call));
    }
    await voice.lookUp?.(doubt);
    await TWILIO.check(account());
    const judged = fake.requests.map(judge);
    expect(judged.filter((one) => 'wrong' in one)).toEqual([]);
    expect([...new Set(judged.map((one) => one.at))].sort()).toEqual([
      'GET /2010-04-01/Accounts/{Sid}.json',
      'GET /Calls.json',
      'GET /Messages.json',
      'POST /Calls.json',
      'POST /Calls/{Sid}.json',
      'POST /Messages.json',
    ]);
  });

  test('the judge refuses what Twilio would', () => {
    const path = `/2010-04-01/Accounts/AC${'0'.repeat(32)}/Calls.json`;
    const wrong = (fields: Record<string, string>) =>
      'wrong' in judge({ method: 'POST', path, form: new URLSearchParams(fields) });
    const good = { To: '+12025550190', From: '+12125550100', Url: 'https://fanfare.example/' };
    expect(wrong(good)).toBe(false);
    expect(wrong({ ...good, To: '' })).toBe(false);
    expect(wrong({ From: '+12125550100' })).toBe(true);
    expect(wrong({ ...good, Timeout: 'soon' })).toBe(true);
    expect(wrong({ ...good, Timeuot: '5' })).toBe(true);
    expect('wrong' in judge({ method: 'PUT', path, form: new URLSearchParams(good) })).toBe(true);
  });

  test('the stand-in answers as the document says', async () => {
    const answerOf = ajv.compile({ $ref: 'twilio#/components/schemas/api.v2010.account.message' });
    const callOf = ajv.compile({ $ref: 'twilio#/components/schemas/api.v2010.account.call' });
    const authorization = `Basic ${Buffer.from(`${fake.account.accountSid}:${fake.account.authToken}`).toString('base64')}`;
    const ask = async (path: string, fields: Record<string, string>) => {
      const answer = await fetch(`${fake.url}/2010-04-01/Accounts/${fake.account.accountSid}${path}`, {
        method: 'POST',
        headers: { authorization, 'content-type': FORM },
        body: new URLSearchParams(fields),
      });
      return (await answer.json()) as unknown;
    };
    const to = { To: '+12025550190', From: '+12125550100' };
    answerOf(await ask('/Messages.json', { ...to, Body: 'Hi', StatusCallback: 'https://x.example/' }));
    expect(answerOf.errors).toBeNull();
    callOf(await ask('/Calls.json', { ...to, Url: 'https://x.example/' }));
    expect(callOf.errors).toBeNull();
  });
});
