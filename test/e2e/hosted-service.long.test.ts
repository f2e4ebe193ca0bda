import type { PersonExplanation } from '../../src/client/types';
import { LIMITS } from '../../src/domain/limits';
import { ApiClient, type CampaignDetail, createList, untilPhase } from '../support/api-client';
import { addWorkspace } from '../support/as-user';
import {
  type HostedMessage,
  HostedService,
  type HostedTemplate,
  type Trouble,
} from '../support/hosted-service';
import { Installation } from '../support/installation';
import { freshNamespace } from '../support/namespaces';
import { until } from '../support/until';

const TOKEN_SECONDS = 3;
const SETTLED_MS = 90_000;

const template = (channel: 'email' | 'sms' | 'voice', i: number, more: object): HostedTemplate => ({
  id: `${channel}-${i}`,
  templateName: `${channel} ${i}`,
  channel,
  createdAt: new Date().toISOString(),
  body: 'Hello {{NAME}}',
  ...more,
});

/** Enough of each that the one asked for is on a later page. */
const TEMPLATES = Array.from({ length: 7 }, (_, i) => [
  template('sms', i, {}),
  // The list does not show that the body asks for the city.
  template('email', i, { subject: 'For {{NAME}}', body: '<p>Hello {{NAME}} in {{CITY}}</p>' }),
  template('voice', i, {
    body: '<Response><Answer/></Response>',
    voiceJson: { nodes: [{ id: '1', type: 'text', data: { text: 'Hello {{NAME}}' } }], edges: [] },
  }),
]).flat();

describe('campaigns at a hosted service that has only what the specification has', () => {
  const service = new HostedService({ tokenSeconds: TOKEN_SECONDS, pageSize: 3 });
  let here: Installation;

  beforeAll(async () => {
    service.templates = TEMPLATES;
    const temporal = await freshNamespace();
    here = await Installation.start({
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      ...(await service.start()),
    });
  }, 120_000);

  afterAll(async () => {
    await here?.remove();
    await service.stop();
  });

  beforeEach(() => service.forget());

  afterEach(() => expect(service.violations).toEqual([]));

  async function create(contacts: number, channels: ('email' | 'sms' | 'voice')[], more: object = {}) {
    const listId = await createList(here.api, contacts, `p${Date.now()}x`);
    const settings = {
      email: { fromEmail: 'news@example.com', templateId: 'email-6', version: 1 },
      sms: { shortCode: '12345', templateId: 'sms-6', version: 1 },
      voice: { callerId: '+12025550100', templateId: 'voice-6', version: 1 },
    };
    const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
      campaignId: null,
      name: `hosted ${Date.now()}`,
      channel: channels,
      settings: Object.fromEntries(channels.map((channel) => [channel, settings[channel]])),
      contactListId: [listId],
      params: { CITY: 'Delft' },
      ...more,
    });
    return data.id;
  }

  /** The states that somebody is in. */
  function states(detail: CampaignDetail, channel: string): Record<string, number> {
    const { total: _total, ...counts } = detail.counts[channel] ?? {};
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  }

  /** People whose answers are lost, by the number in their address. */
  const isCut = (message: HostedMessage) => numberOf(message) % 100 === 31 || numberOf(message) % 100 === 61;

  /** Every kind of trouble, each for a few people, the first time that they are sent to. */
  function trouble(message: HostedMessage, times: number): Trouble | undefined {
    if (times > 1) return undefined;
    if (isCut(message)) return { kind: 'cut', taken: numberOf(message) % 100 === 31 };
    switch (numberOf(message) % 50) {
      case 7:
        return { kind: 'refused', status: 429, retryAfter: 1 };
      case 13:
        return { kind: 'refused', status: 500 };
      case 23:
        return { kind: 'refused', status: 503, retryAfter: 2 };
      case 41:
        return { kind: 'slow', ms: 500 };
      default:
        return undefined;
    }
  }

  function expectNobodyTwice(key: 'uid' | 'to'): void {
    const keys = service.taken.map((message) => message[key]);
    expect(keys.length - new Set(keys).size).toBe(0);
  }

  test('are completed through every failure, with no recipient sent to twice and each doubt recorded', async () => {
    const people = 1_500;
    service.trouble = trouble;
    // Fifty at once need some ten seconds for all, several lives of a token.
    service.answerMs = 150;
    const begun = service.tokens.length;
    const id = await create(people, ['email', 'sms'], { delivery: { retry: { initialDelaySeconds: 1 } } });
    const done = await untilPhase(here.api, id, ['completed', 'failed'], SETTLED_MS);
    expect(done).toMatchObject({ phase: 'completed', reason: null });
    for (const channel of ['email', 'sms']) {
      expect([channel, states(done, channel)]).toEqual([channel, { accepted: people - 30, unknown: 30 }]);
    }
    expectNobodyTwice('uid');
    expectNobodyTwice('to');
    // Whoever is unknown may have been reached, and all others have.
    expect(service.taken).toHaveLength(2 * people - 30);
    const { data } = await here.api.expect<{ data: { address: string }[] }>(
      'GET',
      `/api/campaign/${id}/recipients?channel=sms&state=unknown&limit=1000`,
    );
    const cut = service.offered.filter((message) => message.channel === 'sms' && isCut(message));
    expect(data.map(({ address }) => address).sort()).toEqual(cut.map(({ to }) => to).sort());

    expect(service.tokens.length - begun).toBeGreaterThanOrEqual(2);
    // None was asked for while another was good for more than the tenth that it is replaced ahead.
    const early = service.tokens.slice(1).filter((token, i) => {
      const { askedAt, validTill } = service.tokens[i] as (typeof service.tokens)[0];
      return token.askedAt < validTill - (validTill - askedAt) / 10 - 20;
    });
    expect(early).toEqual([]);
  }, 150_000);

  test('reach no recipient twice through kills of the process, and those who were under way are unknown', async () => {
    const people = 6_000;
    service.answerMs = 100;
    const id = await create(people, ['sms']);
    for (const part of [0.1, 0.35, 0.6]) {
      await until('a part is taken', () => service.taken.length >= part * people, SETTLED_MS, 5);
      await here.fanfare.killGroup();
      await here.run();
    }
    const done = await untilPhase(here.api, id, ['completed', 'failed'], SETTLED_MS);
    const { accepted = 0, unknown = 0, ...others } = states(done, 'sms');
    expect([done.phase, accepted + unknown, others]).toEqual(['completed', people, {}]);
    expectNobodyTwice('to');
    expect(service.taken.length).toBeGreaterThanOrEqual(accepted);
    // Two page workers of two shards, three kills.
    expect(unknown).toBeGreaterThan(0);
    expect(unknown).toBeLessThanOrEqual(3 * 4 * LIMITS.singleChunkRecipients);
    const unreached = people - service.taken.length;
    expect(unreached).toBeLessThanOrEqual(unknown);
  }, 240_000);

  test('send to recipients in doubt once more under another uid when asked to', async () => {
    const people = 200;
    service.trouble = trouble;
    const delivery = { onUnknown: 'resend', retry: { maxAttempts: 3, initialDelaySeconds: 1 } };
    const id = await create(people, ['sms'], { delivery });
    const done = await untilPhase(here.api, id, ['completed', 'failed'], SETTLED_MS);
    expect(states(done, 'sms')).toEqual({ accepted: people });
    expectNobodyTwice('uid');
    const uids = new Map<string, Set<string>>();
    for (const { to, uid } of service.offered) uids.set(to, (uids.get(to) ?? new Set()).add(uid));
    const anew = service.offered.filter(({ to }) => uids.get(to)?.size === 2);
    expect(anew.map(numberOf).every((n) => n % 100 === 31 || n % 100 === 61)).toBe(true);
    expect(new Set(anew.map(({ to }) => to)).size).toBe(4);
  }, 150_000);

  test('end with their calls accepted, because the service reports no outcomes', async () => {
    service.trouble = trouble;
    const id = await create(70, ['voice']);
    const done = await untilPhase(here.api, id, ['completed', 'failed'], SETTLED_MS);
    expect(states(done, 'voice')).toEqual({ accepted: 68, unknown: 2 });
    expectNobodyTwice('to');
  }, 150_000);

  test('are explained as far as it tells, and the last step says that it tells no more', async () => {
    const id = await create(1, ['sms']);
    await untilPhase(here.api, id, ['completed'], SETTLED_MS);
    const { data } = await here.api.expect<{ data: PersonExplanation }>(
      'GET',
      `/api/explain?campaign=${id}&to=${encodeURIComponent('+12022000000')}`,
    );
    expect(data).toMatchObject({ recipient: { state: 'accepted' }, next: null });
    expect(data.steps.map(({ what }) => what)).toEqual(['frozen', 'answered']);
    expect(data.steps.at(-1)?.detail).toContain('tells no more');
    expect(data.summary).toContain('taken by the messaging service');
  }, 150_000);

  test('are paused, go on and are canceled without a hold at the service', async () => {
    const people = 3_000;
    service.answerMs = 50;
    const id = await create(people, ['sms'], { delivery: { ratePerSecond: 400 } });
    await until('some are sent', () => service.taken.length > 100);
    await here.api.expect('POST', `/api/campaign/${id}/pause`);
    await untilPhase(here.api, id, ['paused'], SETTLED_MS);
    let atRest = -1;
    await until(
      'nothing more is sent',
      () => {
        const isSame = atRest === service.offered.length;
        atRest = service.offered.length;
        return isSame;
      },
      SETTLED_MS,
      1_000,
    );
    await here.api.expect('POST', `/api/campaign/${id}/resume`);
    await until('more are sent', () => service.taken.length > atRest + 100);
    await here.api.expect('POST', `/api/campaign/${id}/cancel`);
    const done = await untilPhase(here.api, id, ['canceled'], SETTLED_MS);
    const { accepted = 0, canceled = 0, ...others } = states(done, 'sms');
    expect(others).toEqual({});
    expect(accepted).toBe(service.taken.length);
    expect(canceled).toBe(people - accepted);
    expectNobodyTwice('to');
  }, 150_000);

  test('are refused for a template that is not there, and for another workspace', async () => {
    const listId = await createList(here.api, 1, 'single');
    const campaign = {
      campaignId: null,
      name: 'no template',
      channel: ['sms'],
      settings: { sms: { shortCode: '12345', templateId: 'sms-99', version: 1 } },
      contactListId: [listId],
    };
    const refused = await here.api.call('POST', '/api/campaign', campaign);
    expect([refused.status, refused.body.code]).toEqual([422, 'template_not_found']);
    const made = await addWorkspace(here.fanfare.baseUrl, here.credentials.user, 'Second');
    const second = new ApiClient(here.fanfare.baseUrl, made);
    const other = await second.call('POST', '/api/campaign', {
      ...campaign,
      contactListId: [await createList(second, 1)],
    });
    await second.close();
    expect([other.status, other.body.code]).toEqual([403, 'forbidden']);
  }, 150_000);
});

/** The number at the end of the recipient's address, which is the contact's. */
function numberOf({ to }: HostedMessage): number {
  const digits = /^\+1202(\d+)$/.exec(to)?.[1] ?? /(\d+)@/.exec(to)?.[1];
  return Number(digits) % 1_000_000;
}
