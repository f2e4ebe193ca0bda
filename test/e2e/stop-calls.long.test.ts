import { setTimeout as delay } from 'node:timers/promises';
import { campaignDetail, untilPhase } from '../support/api-client';
import { type CallCarrier, installWithCallCarrier } from '../support/call-carrier';
import type { Installation } from '../support/installation';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const LIMIT_MS = 90_000;
const PEOPLE = 12;
const AT_ONCE = 4;

describe('calls of a workspace that is stopped', () => {
  let here: Installation;
  let carrier: CallCarrier;

  beforeAll(async () => {
    ({ here, carrier } = await installWithCallCarrier({}, (_to, attempt) =>
      attempt === 1
        ? { end: { type: 'busy' }, lastsMs: 1_500 }
        : { end: { type: 'completed', data: { answeredBy: 'human' } }, lastsMs: 300 },
    ));
  }, 120_000);
  afterAll(async () => {
    await here?.remove();
    await carrier?.close();
  });

  test('end by themselves, and none begins or is dialled again before the stop ends', async () => {
    const numbers = Array.from({ length: PEOPLE }, (_, i) => `+1202555${1_000 + i}`);
    const id = await createVoiceCampaign(
      here.api,
      numbers.map((phone) => ({ phone })),
      {
        delivery: { maxConcurrentCalls: AT_ONCE },
        voice: { retry: { busy: { maxAttempts: 2, delaysSeconds: [1] } } },
      },
    );
    await until('calls are under way', () => carrier.calls.length === AT_ONCE, LIMIT_MS, 20);
    await here.api.expect('POST', '/api/stop', { reason: 'Wrong number list' });
    const answeredAt = Date.now();
    await until('they have ended', () => carrier.calls.every(({ endedAt }) => endedAt), LIMIT_MS, 50);
    await delay(3_000);
    expect(Math.max(...carrier.calls.map(({ startedAt }) => startedAt))).toBeLessThan(answeredAt + 1_000);
    const { counts } = await campaignDetail(here.api, id);
    expect(counts.voice).toMatchObject({
      total: PEOPLE,
      delivered: 0,
      failed: 0,
      undelivered: 0,
      unknown: 0,
    });

    await here.api.expect('DELETE', '/api/stop');
    const done = await untilPhase(here.api, id, ['completed'], LIMIT_MS);
    expect(done.counts.voice).toMatchObject({ delivered: PEOPLE });
    for (const number of numbers) {
      const attempts = carrier.calls.filter(({ to }) => to === number).map(({ attempt }) => attempt);
      expect([number, attempts]).toEqual([number, [1, 2]]);
    }
  }, 180_000);
});
