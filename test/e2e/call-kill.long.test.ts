import { campaignDetail } from '../support/api-client';
import { type CallCarrier, installWithCallCarrier, type Script } from '../support/call-carrier';
import type { Installation } from '../support/installation';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const SLEEP_SECONDS = 12;
const OF_EACH = 12;
const LIMIT_MS = 180_000;

/** The third digit of the exchange says what becomes of a call. */
const SILENT = '+1202300';
const TOLD_LATE = '+1202400';
const REDIALLED = '+1202500';
const numbers = (prefix: string) => Array.from({ length: OF_EACH }, (_, i) => `${prefix}${1_000 + i}`);

describe('calls during which everything is killed', () => {
  let here: Installation;
  let carrier: CallCarrier;
  let mayEnd: () => void = () => undefined;
  const ending = new Promise<void>((done) => {
    mayEnd = done;
  });

  beforeAll(async () => {
    ({ here, carrier } = await installWithCallCarrier(
      {
        FANFARE_CALL_SILENCE_SECONDS: '5',
      },
      script,
    ));
  }, 120_000);

  afterAll(async () => {
    mayEnd();
    await here?.remove();
    await carrier?.close();
  });

  function script(to: string, attempt: number): Script {
    if (to.startsWith(SILENT)) return { lastsMs: 0, way: ['ringing'] };
    const human = { type: 'completed', data: { answeredBy: 'human' } };
    if (to.startsWith(TOLD_LATE)) return { end: human, lastsMs: 0, until: ending };
    return attempt === 1 ? { end: { type: 'busy' }, lastsMs: 50 } : { end: human, lastsMs: 50 };
  }

  const callsTo = (to: string) => carrier.calls.filter((call) => call.to === to);

  test('are unknown if their end is never reported, and none is made twice; redials come at their time', async () => {
    const all = [SILENT, TOLD_LATE, REDIALLED].flatMap(numbers);
    const id = await createVoiceCampaign(
      here.api,
      all.map((phone) => ({ phone })),
      {
        voice: {
          retry: { busy: { maxAttempts: 2, delaysSeconds: [SLEEP_SECONDS] } },
          ringTimeoutSeconds: 5,
        },
      },
    );
    const states = async () => (await campaignDetail(here.api, id)).counts.voice ?? {};
    await until('every first call', () => all.every((to) => callsTo(to).length > 0), LIMIT_MS, 50);
    await until('the sleeping ones', async () => (await states()).waiting === OF_EACH, LIMIT_MS, 50);
    await here.fanfare.killGroup();
    mayEnd();
    await here.run();
    await until('every end', async () => (await states()).unknown === OF_EACH, LIMIT_MS, 200);
    await until('every redial', async () => (await states()).delivered === 2 * OF_EACH, LIMIT_MS, 200);
    for (const to of [...numbers(SILENT), ...numbers(TOLD_LATE)])
      expect([to, callsTo(to).length]).toEqual([to, 1]);
    for (const to of numbers(REDIALLED)) {
      const [first, second, ...more] = callsTo(to);
      expect([to, second?.attempt, more]).toEqual([to, 2, []]);
      const gap = ((second?.startedAt ?? 0) - (first?.endedAt ?? Number.NaN)) / 1_000;
      expect(gap).toBeGreaterThanOrEqual(SLEEP_SECONDS - 0.005);
    }
    await until(
      'the end',
      async () => (await campaignDetail(here.api, id)).phase === 'completed',
      LIMIT_MS,
      200,
    );
  }, 400_000);
});
