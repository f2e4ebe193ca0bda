import { campaignDetail, untilPhase } from '../support/api-client';
import { type CallCarrier, installWithCallCarrier } from '../support/call-carrier';
import type { Installation } from '../support/installation';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const PEOPLE = 12;
const MINUTE_MS = 60_000;
/** From the decision to dial to the carrier's telephone, on a machine that has much else to do. */
const ON_ITS_WAY_MS = 10_000;

/** `HH:MM` in UTC. */
const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16);

interface Recipient {
  address: string;
  state: string;
  code: string | null;
  outcome: string | null;
  attempts: number;
}

describe('calls to people whose line is busy, through a carrier outside', () => {
  let here: Installation;
  let carrier: CallCarrier;

  beforeAll(async () => {
    ({ here, carrier } = await installWithCallCarrier(
      {
        FANFARE_VOICE_HTTP_IDEMPOTENT: 'true',
      },
      () => ({ end: { type: 'busy', code: '486' }, lastsMs: 50 }),
    ));
  }, 120_000);

  afterAll(async () => {
    await here?.remove();
    await carrier?.close();
  });

  afterEach(() => here.api.expect('PUT', '/api/policy', {}));

  const callsTo = (to: string) => carrier.calls.filter((call) => call.to === to);
  const recipientsOf = async (id: string) =>
    (await here.api.expect<{ data: Recipient[] }>('GET', `/api/campaign/${id}/recipients?limit=1000`)).data;
  const busy = (maxAttempts: number, delaysSeconds: number[]) => ({
    retry: { busy: { maxAttempts, delaysSeconds } },
    maxAttempts,
  });

  test('are no more than the cap of a number in a day, of two campaigns with redials together', async () => {
    await here.api.expect('PUT', '/api/policy', { caps: [{ channels: ['voice'], max: 2, days: 1 }] });
    const numbers = Array.from({ length: PEOPLE }, (_, i) => `+1202${5_000_000 + i}`);
    const contacts = numbers.map((phone) => ({ phone }));
    const ends = new Date(Date.now() + 3_600_000).toISOString();
    const voice = busy(3, [1]);
    const lasting = await createVoiceCampaign(here.api, contacts, { voice });
    const ending = await createVoiceCampaign(here.api, contacts, { voice, schedule: { endAt: ends } });

    // Everybody has had two calls; a third is more than a day away, which one campaign does not live to see.
    await untilPhase(here.api, ending, ['completed'], 120_000);
    await until(
      'the other campaign waits',
      async () => {
        const all = await recipientsOf(lasting);
        return all.every(({ state, code }) => state === 'waiting' && code === 'frequency_cap');
      },
      60_000,
    );
    expect(numbers.map((to) => callsTo(to).length)).toEqual(numbers.map(() => 2));
    const [waiting, ended] = await Promise.all([lasting, ending].map(recipientsOf));
    for (const to of numbers) {
      const one = waiting?.find(({ address }) => address === to);
      const other = ended?.find(({ address }) => address === to);
      expect([one?.state, other?.state]).toEqual(['waiting', 'expired']);
      expect(other?.code).toBe('frequency_cap');
      expect((one?.attempts ?? 0) + (other?.attempts ?? 0)).toBe(2);
    }

    // Their workflows sleep for a day, unless the cap is lifted.
    await here.api.expect('PUT', '/api/policy', {});
    await untilPhase(here.api, lasting, ['completed'], 120_000);
    expect((await recipientsOf(lasting)).map(({ attempts }) => attempts)).toEqual(numbers.map(() => 3));
  }, 360_000);

  test('are made by day, and go on when a night of a minute is over', async () => {
    // Far enough away that some calls come before it.
    const nightAt = Math.ceil((Date.now() + 12_000) / MINUTE_MS) * MINUTE_MS;
    const dayAt = nightAt + MINUTE_MS;
    const numbers = Array.from({ length: PEOPLE }, (_, i) => `+1202${6_000_000 + i}`);
    // At the pace of the campaign the last ones of these fall into the night or behind it.
    const delays = [2, 45];
    const id = await createVoiceCampaign(
      here.api,
      numbers.map((phone) => ({ phone, timezone: 'Africa/Abidjan' })),
      {
        voice: {
          ...busy(3, delays),
          callWindow: {
            from: clock(nightAt - 3_600_000),
            to: clock(nightAt + 3_600_000),
            timezone: 'recipient',
          },
        },
        delivery: {
          ratePerSecond: 0.5,
          quietHours: { from: clock(nightAt), to: clock(dayAt), timezone: 'Etc/UTC' },
        },
      },
    );
    await until('it is night', async () => Date.now() > nightAt + ON_ITS_WAY_MS, 90_000, 100);
    const byNight = await recipientsOf(id);
    expect(carrier.calls.some(({ to }) => numbers.includes(to))).toBe(true);
    expect(byNight.map(({ state }) => state)).not.toContain('sending');
    await untilPhase(here.api, id, ['completed'], 300_000);

    const made = carrier.calls.filter(({ to }) => numbers.includes(to));
    const inTheNight = made.filter(
      ({ startedAt }) => startedAt > nightAt + ON_ITS_WAY_MS && startedAt < dayAt,
    );
    expect(inTheNight).toEqual([]);
    expect(made.some(({ startedAt }) => startedAt >= dayAt)).toBe(true);
    for (const to of numbers) {
      const calls = callsTo(to);
      expect(calls).toHaveLength(3);
      for (const [i, delay] of delays.entries()) {
        const gap = ((calls[i + 1]?.startedAt ?? 0) - (calls[i]?.endedAt ?? Infinity)) / 1_000;
        expect(gap).toBeGreaterThan(delay - 0.005);
      }
    }
    const { voice } = (await campaignDetail(here.api, id)).counts;
    expect(voice).toMatchObject({ total: PEOPLE, undelivered: PEOPLE });
  }, 420_000);
});
