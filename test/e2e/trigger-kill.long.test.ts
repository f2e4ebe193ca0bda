import { createSmsTemplate, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const RECIPIENTS = 5_000;
const phone = (n: number) => `+1202${2_000_000 + n}`;

describe('a campaign that is triggered under an Idempotency-Key', () => {
  let here: Installation;
  let templateId: string;

  beforeAll(async () => {
    here = await Installation.start({ TEMPORAL_ADDRESS: '' });
    templateId = await createSmsTemplate(here.api, 'Hello {{NAME}}, {{CODE}}');
  }, 120_000);
  afterAll(() => here?.remove());

  const body = (count: number, more: object = {}) => ({
    campaignId: null,
    name: 'Trigger',
    settings: { sms: { shortCode: '12345', templateId, version: 1 } },
    channel: ['sms'],
    recipients: Array.from({ length: count }, (_, n) => ({
      externalId: `t-${n}`,
      phone: phone(n),
      name: `N${n}`,
      params: { CODE: `c${n}` },
    })),
    ...more,
  });

  /** As `api.call`, with a key; undefined when the connection broke. */
  async function keyed(content: object) {
    const answer = await fetch(`${here.fanfare.baseUrl}/api/campaign`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await here.api.bearer()}`,
        'content-type': 'application/json',
        'idempotency-key': 'order-4711',
      },
      body: JSON.stringify(content),
    }).catch(() => undefined);
    return (
      answer && {
        status: answer.status,
        retryAfter: answer.headers.get('retry-after'),
        replay: answer.headers.get('idempotent-replay'),
        body: (await answer.json()) as { code?: string; data?: { id: string } },
      }
    );
  }

  test('is one campaign under its key, also when the process is killed in the middle of creating it', async () => {
    const content = body(RECIPIENTS, { name: 'Killed' });
    const named = async () =>
      (
        await here.api.expect<{ data: { id: string }[] }>(
          'GET',
          '/api/campaign?page=1&limit=100&channel=sms&search=Killed',
        )
      ).data;
    const first = keyed(content);
    await new Promise((done) => setTimeout(done, 250));
    await here.fanfare.killGroup();
    const killedAt = Date.now();
    const broken = await first;
    await here.run();

    let last = await keyed(content);
    if (broken === undefined && last?.status === 409) {
      expect(last.body.code).toBe('idempotency_in_progress');
      expect(Number(last.retryAfter)).toBeGreaterThan(0);
    }
    await until(
      'the key is taken over',
      async () => {
        last = await keyed(content);
        return last?.status === 201;
      },
      75_000,
      500,
    );
    expect(Date.now() - killedAt).toBeLessThan(75_000);
    const again = await keyed(content);
    expect([again?.status, again?.replay, again?.body.data?.id]).toEqual([201, 'true', last?.body.data?.id]);
    expect((await named()).map(({ id }) => id)).toEqual([last?.body.data?.id]);
    const { counts } = await untilPhase(here.api, last?.body.data?.id ?? '', ['completed'], 120_000);
    expect(counts.sms?.total).toBe(RECIPIENTS);
    expect(here.record('sms')).toMatchObject({ duplicates: [], duplicateUids: [] });
  }, 300_000);
});
