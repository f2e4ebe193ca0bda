import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '../../src/domain/limits';
import { campaignDetail, createList, untilPhase } from '../support/api-client';
import { asUser } from '../support/as-user';
import { type FakeJsonCarrier, startFakeVonage } from '../support/fake-json-carrier';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const TIMEOUT_MS = 120_000;

describe('a campaign that its carriers cannot send', () => {
  let here: Installation;
  let vonage: FakeJsonCarrier;
  let account: string;
  let lists: string[];
  let template: { templateId: string; version: number };

  beforeAll(async () => {
    vonage = await startFakeVonage();
    here = await Installation.start();
    const { fanfare, credentials, api } = here;
    const { settings, secrets } = vonage;
    const made = await asUser<{ data: { id: string } }>(
      ...[fanfare.baseUrl, credentials.user, 'POST', '/api/admin/accounts'],
      { kind: 'vonage', name: 'Calls', channels: ['voice'], settings, secrets },
    );
    account = made.data.id;
    lists = [await createList(api, 3)];
    const { template: call } = await api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      templateName: 'tones',
      channel: 'voice',
      body: '<Response><Play digits="1w2"/><Gather finishOnKey="*"><Say>Hello</Say></Gather></Response>',
      voiceJson: {
        nodes: [{ id: '1', type: 'text', data: { isStart: true, isEndNode: true, text: 'Hello' } }],
        edges: [],
        viewport: { x: 0, y: 0, zoom: 1 },
      },
    });
    template = { templateId: call.id, version: 1 };
  }, TIMEOUT_MS);
  afterAll(async () => {
    await here?.remove();
    await vonage?.close();
  });

  const route = (...accounts: string[]) =>
    asUser(here.fanfare.baseUrl, here.credentials.user, 'PUT', '/api/admin/routes', {
      routes: accounts.length
        ? [{ channel: 'voice', accounts: accounts.map((id) => ({ account: id, weight: 1 })) }]
        : [],
    });
  const body = (more: object = {}) => ({
    ...{ campaignId: null, name: 'Tones', channel: ['voice'], contactListId: lists },
    settings: { voice: { callerId: '+12025550100', ...template } },
    ...more,
  });

  test(
    'is refused with every finding, when it is created and in a dry run',
    async () => {
      await route(account);
      for (const path of ['/api/campaign', '/api/campaign/dry-run']) {
        const { status, body: answer } = await here.api.call('POST', path, body());
        expect({ status, code: answer.code }).toEqual({ status: 422, code: 'not_possible' });
        expect(answer.errors).toEqual([
          {
            path: 'settings.voice.templateId',
            code: 'not_possible',
            message: expect.stringContaining('Tones'),
          },
          {
            path: 'settings.voice.templateId',
            code: 'not_possible',
            message: expect.stringContaining(account),
          },
        ]);
      }
      expect(vonage.calls).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'is warned of where another account of the route can',
    async () => {
      await route(account, 'default-voice');
      const dry = await here.api.expect<{ data: { warnings: object[] } }>(
        ...(['POST', '/api/campaign/dry-run', body()] as const),
      );
      const made = await here.api.expect<{ data: { warnings: object[] } }>(
        ...(['POST', '/api/campaign', body({ start: false })] as const),
      );
      for (const { data } of [dry, made]) {
        const found = data.warnings.filter((one) => (one as { code: string }).code === 'not_possible');
        expect(found).toHaveLength(2);
        expect(found[0]).toMatchObject({ path: 'settings.voice.templateId', severity: 'warning' });
      }
    },
    TIMEOUT_MS,
  );

  test(
    'is refused as one message, at once or durably',
    async () => {
      await route(account);
      const one = {
        ...{ channel: 'voice', uid: 'one-1', to: '+12025550190', from: '+12025550100' },
        'template-id': template.templateId,
      };
      const refused = await here.api.call('POST', '/send-msg', one);
      expect([refused.status, refused.body.code]).toEqual([422, 'not_possible']);
      expect(refused.body.errors).toHaveLength(2);
      const durable = await here.api.call('POST', '/api/send', one);
      expect([durable.status, durable.body.code]).toEqual([422, 'not_possible']);
      expect(durable.body.errors).toEqual(
        Array(2).fill(expect.objectContaining({ path: 'template-id', code: 'not_possible' })),
      );
      expect(vonage.calls).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'ends a durable send whose route has changed since it was taken, and answers a repeat as before',
    async () => {
      await route();
      await untilAskedAgain();
      const one = {
        ...{ channel: 'voice', uid: 'one-2', to: '+12025550190', from: '+12025550100' },
        ...{ 'template-id': template.templateId, sendAt: new Date(Date.now() + 4_000).toISOString() },
      };
      const made = await here.api.expect<{ data: { id: string } }>('POST', '/api/send', one);
      await route(account);
      await untilAskedAgain();
      const repeated = await here.api.expect<{ data: { id: string } }>('POST', '/api/send', one);
      expect(repeated.data.id).toBe(made.data.id);
      const read = async () =>
        (
          await here.api.expect<{ data: { state: string; code: string; finishedAt: string | null } }>(
            ...(['GET', `/api/send/${made.data.id}`] as const),
          )
        ).data;
      await until('the durable send has ended', async () => (await read()).finishedAt !== null, 30_000);
      expect(await read()).toMatchObject({ state: 'rejected', code: 'not_possible' });
      expect(vonage.calls).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    'fails with the reason at its hour when its route has changed since',
    async () => {
      await route();
      const startAt = new Date(Date.now() + 6_000).toISOString();
      const { data } = await here.api.expect<{ data: { id: string } }>(
        ...(['POST', '/api/campaign', body({ schedule: { startAt } })] as const),
      );
      await route(account);
      await untilPhase(here.api, data.id, ['failed'], 60_000);
      const { reason } = await campaignDetail(here.api, data.id);
      expect(reason).toMatch(/^not_possible: Tones .*account acc_/);
      expect(vonage.calls).toEqual([]);

      // Put right, it goes on.
      await route();
      await here.api.expect('POST', `/api/campaign/${data.id}/resume`, {});
      await untilPhase(here.api, data.id, ['running', 'finishing', 'completed'], 60_000);
    },
    TIMEOUT_MS,
  );
});

/** Durable sends share what the service said of their template for so long. */
const untilAskedAgain = () => delay(LIMITS.sendCheckSharedMs + 100);
