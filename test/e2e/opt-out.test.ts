import { request } from 'undici';
import { createList, createSmsCampaign, createSmsTemplate, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

/**
 * How soon after a STOP nothing more may be handed over is two seconds, and twenty take a tenth of one; beside other
 * test files the machine may be five times slower.
 */
const OBEYED_MS = 10_000;
const SETTLED_MS = 120_000;

describe('opting out while a campaign runs', () => {
  let here: Installation;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '5' });
  }, 120_000);
  afterAll(() => here?.remove());

  async function carrierTells(entries: Record<string, string>[]): Promise<number> {
    const begun = performance.now();
    const { statusCode, body } = await request(
      `${here.fanfare.baseUrl}/inbound/http/${here.credentials.inboundSecret}`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(entries),
      },
    );
    await body.dump();
    expect(statusCode).toBe(200);
    return performance.now() - begun;
  }

  test(
    'who writes STOP gets nothing that was not on its way, and is counted as suppressed',
    async () => {
      const list = await createList(here.api, 300, 'stop');
      const id = await createSmsCampaign(here.api, list, await createSmsTemplate(here.api), {
        delivery: { ratePerSecond: 20 },
      });
      await until('it is sending', async () => here.record('sms').handOvers > 0, 60_000, 20);
      // The last in line have seconds to go.
      const people = Array.from({ length: 20 }, (_, i) => `+1202${String(2_000_280 + i)}`);
      const tookMs = await carrierTells(
        people.map((from) => ({ type: 'inbound', id: `stop-${from}`, from, to: '12345', text: 'Stop' })),
      );
      expect(tookMs).toBeLessThan(OBEYED_MS);
      const { data: blocked } = await here.api.expect<{ data: { address: string; source: string }[] }>(
        'GET',
        '/api/suppression?channel=sms&limit=100',
      );
      expect(new Set(blocked.map(({ address }) => address))).toEqual(new Set(people));

      await untilPhase(here.api, id, ['completed'], SETTLED_MS);
      const { data } = await here.api.expect<{ data: { address: string; state: string }[] }>(
        'GET',
        `/api/campaign/${id}/recipients?channel=sms&state=suppressed&limit=100`,
      );
      expect(new Set(data.map(({ address }) => address))).toEqual(new Set(people));
    },
    SETTLED_MS + 60_000,
  );
});
