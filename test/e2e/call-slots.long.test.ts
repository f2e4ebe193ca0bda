import { campaignDetail, untilPhase } from '../support/api-client';
import { type CallCarrier, installWithCallCarrier } from '../support/call-carrier';
import type { Installation } from '../support/installation';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const PEOPLE = 24;
const LIMIT = 6;
const LOWER = 2;

const numbers = Array.from({ length: PEOPLE }, (_, i) => `+1202${7_000_000 + i}`);

/** Calls at once through a carrier outside, of people whose lines are busy so that all are dialled again together. */
describe("a campaign's calls at once", () => {
  let here: Installation;
  let carrier: CallCarrier;
  let mayEnd: () => void = () => undefined;
  let ending: Promise<void> | undefined;

  beforeAll(async () => {
    ({ here, carrier } = await installWithCallCarrier({ FANFARE_VOICE_HTTP_IDEMPOTENT: 'true' }, () => ({
      end: { type: 'busy' },
      lastsMs: 400,
      ...(ending && { until: ending }),
    })));
  }, 120_000);

  afterAll(async () => {
    mayEnd();
    await here?.remove();
    await carrier?.close();
  });

  const create = (more: object) =>
    createVoiceCampaign(
      here.api,
      numbers.map((phone) => ({ phone })),
      more as Record<string, unknown>,
    );
  const busy = { retry: { busy: { maxAttempts: 2, delaysSeconds: [1] } } };
  /** The most that were live of the calls from here on. */
  const mostSince = (from: number) => Math.max(...carrier.calls.slice(from).map(({ live }) => live));

  test('are never more than the limit, with all recipients redialled at the same moment', async () => {
    const id = await create({ voice: busy, delivery: { maxConcurrentCalls: LIMIT } });
    await until('first redials', () => carrier.calls.some(({ attempt }) => attempt === 2), 120_000, 20);
    // Everybody's turn comes while nobody is called: with the resumption all of them wake.
    await here.api.expect('POST', `/api/campaign/${id}/pause`);
    await until('the calls to end', () => carrier.calls.every(({ endedAt }) => endedAt), 60_000, 50);
    await here.api.expect('POST', `/api/campaign/${id}/resume`);
    await until('more of them', () => carrier.calls.length >= PEOPLE + LIMIT, 120_000, 20);
    await here.api.expect('PATCH', `/api/campaign/${id}`, { delivery: { maxConcurrentCalls: LOWER } });
    const patched = carrier.calls.length;
    await untilPhase(here.api, id, ['completed'], 180_000);

    expect(carrier.calls).toHaveLength(2 * PEOPLE);
    expect(mostSince(0)).toBeLessThanOrEqual(LIMIT);
    expect(mostSince(0)).toBeGreaterThan(LOWER);
    // Calls that were on their way may have come after the change, and others while those were live.
    expect(mostSince(patched + LIMIT)).toBeLessThanOrEqual(LOWER);
  }, 420_000);

  test('are as many again after everything was killed while they were live', async () => {
    const from = carrier.calls.length;
    ending = new Promise<void>((done) => {
      mayEnd = done;
    });
    const id = await create({ voice: busy, delivery: { maxConcurrentCalls: LIMIT } });
    await until('as many as may be', () => carrier.calls.length === from + LIMIT, 120_000, 20);
    await here.fanfare.killGroup();
    await here.run();
    const sending = async () => (await campaignDetail(here.api, id)).counts.voice?.sending ?? 0;
    await until('the campaign to go on', async () => (await sending()) >= LIMIT, 60_000, 100);
    mayEnd();
    await untilPhase(here.api, id, ['completed'], 180_000);
    expect(carrier.calls.length - from).toBe(2 * PEOPLE);
    expect(mostSince(from)).toBe(LIMIT);
  }, 420_000);
});
