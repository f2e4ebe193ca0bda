import { campaignDetail, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const SETTLED_MS = 60_000;

describe('campaigns of which some fail, through the whole program', () => {
  let here: Installation;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '5' });
  }, 120_000);

  afterAll(() => here?.remove());

  /** An email campaign to people whose address says what becomes of their messages. */
  async function campaign(contacts: number, fate: string, options: Record<string, unknown>): Promise<string> {
    const list = await here.api.expect<{ data: { id: string } }>('POST', '/api/contact-list', { name: fate });
    await here.api.expect('POST', `/api/contact-list/${list.data.id}/contacts`, {
      contacts: Array.from({ length: contacts }, (_, i) => ({ email: `person${i}+${fate}@example.com` })),
    });
    const { template } = await here.api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      templateName: fate,
      channel: 'email',
      subject: 'Hello',
      body: '<p>Hello</p>',
    });
    const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
      campaignId: null,
      name: fate,
      settings: { email: { fromEmail: 'news@example.com', templateId: template.id, version: 1 } },
      channel: ['email'],
      contactListId: [list.data.id],
      ...options,
    });
    return data.id;
  }

  const handedOver = () => here.record('email').handOvers;

  test('stops by itself when too many fail, and when it is resumed counts only what follows', async () => {
    const id = await campaign(600, 'bounce', {
      delivery: { ratePerSecond: 40 },
      abort: { failureRate: 0.5, minSample: 20 },
    });
    const reason = /^abort_threshold: \d+ of \d+ failed \(\d/;
    const first = await untilPhase(here.api, id, ['failed', 'completed'], SETTLED_MS);
    expect(first).toMatchObject({ phase: 'failed', reason: expect.stringMatching(reason) });
    const before = ended(await campaignDetail(here.api, id));
    expect(before).toBeLessThan(400);

    await here.api.expect('POST', `/api/campaign/${id}/resume`);
    const second = await untilPhase(here.api, id, ['failed', 'completed'], SETTLED_MS);
    expect(second).toMatchObject({ phase: 'failed', reason: expect.stringMatching(reason) });
    // The sample begins anew, and no sooner than with the resumed run.
    expect(ended(second) - before).toBeGreaterThanOrEqual(20);
  }, 120_000);

  test('settles recipients in doubt, and sends to no recipient more often than asked', async () => {
    const before = handedOver();
    const id = await campaign(5, 'lost', {
      delivery: { onUnknown: 'resend', retry: { maxAttempts: 2, initialDelaySeconds: 1 } },
    });
    const done = await untilPhase(here.api, id, ['failed', 'completed'], SETTLED_MS);
    expect(done.phase).toBe('completed');
    await until(
      'everybody is delivered',
      async () => (await campaignDetail(here.api, id)).counts.email?.delivered === 5,
      20_000,
    );
    expect(handedOver() - before).toBeLessThanOrEqual(10);
  }, 120_000);

  function ended({ counts }: { counts: Record<string, Record<string, number>> }): number {
    const { delivered = 0, undelivered = 0, failed = 0, rejected = 0 } = counts.email ?? {};
    return delivered + undelivered + failed + rejected;
  }
});
