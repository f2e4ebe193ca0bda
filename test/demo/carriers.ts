import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEMO_TEMPLATES, demoCampaign } from '../../src/cli/demo-content';
import { CHANNELS, type Channel } from '../../src/domain/channel';
import { type ApiClient, campaignDetail, untilPhase } from '../support/api-client';
import { asUser } from '../support/as-user';
import {
  type FakeJsonCarrier,
  type FakeTelnyx,
  startFakeTelnyx,
  startFakeVonage,
} from '../support/fake-json-carrier';
import { answerTelnyxCall } from '../support/fake-telnyx-call';
import { type FakeTwilio, startFakeTwilio } from '../support/fake-twilio';
import { answerVonageCall } from '../support/fake-vonage-call';
import { Installation } from '../support/installation';
import { ROOT } from '../support/root';

const CONTACTS = 40;
/** After so many SMS Twilio does not know our account any more. */
const TWILIO_TAKES = 12;
const LIMIT_MS = 180_000;

/** Who got what by which account, as Fanfare tells it. */
export interface Given {
  channel: Channel;
  to: string;
  account: string;
  state: string;
}

export interface CarriersDemo {
  given: Given[];
  counts: Record<string, Record<string, number>>;
  /** How often each carrier was asked for each number, as the carriers tell it; an SMS that Twilio refused is none. */
  taken: Record<string, string[]>;
}

interface Fakes {
  twilio: FakeTwilio;
  telnyx: FakeTelnyx;
  vonage: FakeJsonCarrier;
}

/**
 * The demo campaign over fakes of three vendors: two accounts a channel, and one of them fails in the middle. Email leaves by two
 * simulators in turn, SMS by Twilio and, when that refuses our account, by Telnyx, calls by Vonage and Telnyx in turn.
 */
export async function runCarriersDemo(say: (line: string) => void): Promise<CarriersDemo> {
  const fakes: Fakes = {
    twilio: await startFakeTwilio({ delivers: true }),
    telnyx: await startFakeTelnyx(),
    vonage: await startFakeVonage(),
  };
  const callees = answerCalls(fakes);
  let here: Installation | undefined;
  try {
    here = await Installation.start();
    const names = await makeAccounts(here, fakes);
    say(`Accounts: ${[...names.values()].join(', ')}`);
    const failing = failInTheMiddle(fakes.twilio, say);
    const id = await startCampaign(here.api);
    say(`The demo campaign ${id} has begun for ${CONTACTS} contacts by email, SMS and calls`);
    await untilPhase(here.api, id, ['completed'], LIMIT_MS);
    clearInterval(failing);
    const { counts } = await campaignDetail(here.api, id);
    return { given: await readGiven(here.api, id, names), counts, taken: takenBy(fakes) };
  } finally {
    await callees.stop();
    await here?.remove();
    await Promise.all(Object.values(fakes).map((fake) => fake.close()));
  }
}

async function makeAccounts(
  here: Installation,
  { twilio, telnyx, vonage }: Fakes,
): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const call = <T>(method: string, path: string, body: object) =>
    asUser<T>(here.fanfare.baseUrl, here.credentials.user, method, `/api/admin${path}`, body);
  const make = async (kind: string, name: string, channels: Channel[], more: object) => {
    const body = { kind, name, channels, ...more };
    const { data } = await call<{ data: { id: string } }>('POST', '/accounts', body);
    names.set(`${kind}:${data.id}`, name);
    return { account: data.id };
  };
  const { accountSid, authToken } = twilio.account;
  const north = await make('twilio', 'Twilio', ['sms'], {
    settings: { accountSid, url: twilio.url },
    secrets: { authToken },
  });
  const south = await make('telnyx', 'Telnyx', ['sms', 'voice'], {
    ...{ settings: telnyx.settings, secrets: telnyx.secrets, maxConcurrentCalls: 5 },
  });
  const east = await make('vonage', 'Vonage', ['voice'], {
    ...{ settings: vonage.settings, secrets: vonage.secrets, ratePerSecond: 20 },
  });
  const mails = [
    await make('simulator', 'Mail A', ['email'], {}),
    await make('simulator', 'Mail B', ['email'], {}),
  ];
  const inTurn = (accounts: object[]) => accounts.map((one) => ({ ...one, weight: 1 }));
  await call('PUT', '/routes', {
    routes: [
      { channel: 'email', accounts: inTurn(mails) },
      { channel: 'sms', accounts: [north, south], failover: true },
      { channel: 'voice', accounts: inTurn([east, south]), failover: true },
    ],
  });
  return names;
}

function failInTheMiddle(twilio: FakeTwilio, say: (line: string) => void): NodeJS.Timeout {
  const timer = setInterval(() => {
    if (twilio.messages.length < TWILIO_TAKES) return;
    clearInterval(timer);
    twilio.answerWith({ status: 401, body: { code: 20003, message: 'Authenticate', status: 401 } });
    say(`Twilio has taken ${twilio.messages.length} SMS, and refuses the account from now on`);
  }, 1);
  return timer;
}

async function startCampaign(api: ApiClient): Promise<string> {
  const { data: list } = await api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
    name: 'Demo',
  });
  const rows = readFileSync(join(ROOT, 'samples/contacts.csv'), 'utf8').split('\n');
  const path = `/api/contact-list/${list.id}/contacts?country=US`;
  await api.expect('POST', path, rows.slice(0, CONTACTS + 1).join('\n'), 'text/csv');
  const templates = {} as Parameters<typeof demoCampaign>[0]['templates'];
  for (const channel of CHANNELS) {
    const body = { templateName: `Demo ${channel}`, channel, ...DEMO_TEMPLATES[channel] };
    const made = await api.expect<{ template: { id: string; version: number } }>(
      'POST',
      '/api/template/',
      body,
    );
    templates[channel] = { id: made.template.id, version: made.template.version };
  }
  const campaign = demoCampaign({ name: 'Demo', listId: list.id, templates });
  return (await api.expect<{ data: { id: string } }>('POST', '/api/campaign', campaign)).data.id;
}

/** Every callee answers and listens to the end. */
function answerCalls({ telnyx, vonage }: Fakes): { stop(): Promise<void> } {
  const answered = new Set<unknown>();
  const calls: Promise<unknown>[] = [];
  const answer = (call: unknown, talk: () => Promise<unknown>) => {
    if (answered.has(call)) return;
    answered.add(call);
    // The answer to the create comes first.
    calls.push(new Promise((done) => setTimeout(done, 20)).then(talk));
  };
  const timer = setInterval(() => {
    for (const call of telnyx.telnyxCalls) answer(call, () => answerTelnyxCall(telnyx, call));
    for (const call of vonage.calls) answer(call, () => answerVonageCall(vonage, call));
  }, 10);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(calls);
    },
  };
}

async function readGiven(api: ApiClient, campaign: string, names: Map<string, string>): Promise<Given[]> {
  const given: Given[] = [];
  for (const channel of CHANNELS) {
    const path = `/messages?campaign=${campaign}&channel=${channel}&limit=100`;
    const { data } = await api.expect<{ data: { to: string; provider?: string; state: string }[] }>(
      'GET',
      path,
    );
    for (const { to, provider = '', state } of data)
      given.push({ channel, to, state, account: names.get(provider) ?? provider });
  }
  return given;
}

const takenBy = ({ twilio, telnyx, vonage }: Fakes): CarriersDemo['taken'] => ({
  'sms Twilio': twilio.messages.map(({ form }) => form.get('To') ?? ''),
  'sms Telnyx': telnyx.messages.map(({ body }) => body.to ?? ''),
  'voice Telnyx': telnyx.telnyxCalls.map(({ body }) => body.to),
  'voice Vonage': vonage.calls.map(({ body }) => `+${body.to[0]?.number}`),
});

/** One line a recipient and channel, and one an account. */
export function linesOf({ given, counts }: CarriersDemo): string[] {
  const lines = given.map(
    ({ channel, to, account, state }) =>
      `${channel.padEnd(6)} ${to.padEnd(34)} ${account.padEnd(8)} ${state}`,
  );
  for (const channel of CHANNELS) {
    const ofChannel = given.filter((one) => one.channel === channel);
    const accounts = [...new Set(ofChannel.map(({ account }) => account))].sort();
    const parts = accounts.map(
      (name) => `${ofChannel.filter(({ account }) => account === name).length} by ${name}`,
    );
    lines.push(`${channel}: ${counts[channel]?.total ?? 0} recipients, ${parts.join(', ')}`);
  }
  return lines;
}
