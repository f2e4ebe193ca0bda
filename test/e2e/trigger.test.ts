import { createSmsTemplate, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';

const phone = (n: number) => `+1202${2_000_000 + n}`;

describe('a campaign that is triggered in one call', () => {
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

  test('reaches its recipients but those who are suppressed or share an address', async () => {
    await here.api.expect('POST', '/api/suppression', { channel: 'sms', address: phone(0), reason: 'asked' });
    const before = here.record('sms').handOvers;
    const { data } = await here.api.expect<{ data: { id: string } }>(
      'POST',
      '/api/campaign',
      body(3, {
        recipients: [
          ...body(3).recipients,
          { externalId: 'twin', phone: phone(1), name: 'T', params: { CODE: 'x' } },
        ],
      }),
    );
    const { counts, skipped } = await untilPhase(here.api, data.id, ['completed'], 60_000);
    expect(counts.sms?.total).toBe(2);
    expect(skipped.sms).toMatchObject({ suppressed: 1, duplicate_address: 1 });
    expect(here.record('sms').handOvers - before).toBeLessThanOrEqual(2);
    const { data: found } = await here.api.expect<{ data: { contactId: string }[] }>(
      'GET',
      `/api/campaign/${data.id}/recipients`,
    );
    const timeline = await here.api.expect('GET', `/api/contact/${found[0]?.contactId}/timeline`);
    expect(JSON.stringify(timeline)).toContain(data.id);
  }, 90_000);
});
