import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inParallel } from '../../src/domain/in-parallel';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const PACED = 20;
const RECIPIENTS = 3;
const EVERY_SECONDS = 12;
const LIMIT_MS = 180_000;

/**
 * Campaigns that wait for their pace, for their hour and for the operator outlive what carries them:
 * the process killed, the process ended in order, and the Temporal server dead under it.
 */
describe('campaigns that wait while processes end', () => {
  let here: Installation;

  beforeAll(async () => {
    here = await Installation.start({ TEMPORAL_ADDRESS: '', FANFARE_SIMULATOR_LATENCY_MS: '10' });
  }, 120_000);
  afterAll(() => here?.remove());

  test('each goes on where it was, in its time, and no recipient is sent to twice', async () => {
    const template = await createSmsTemplate(here.api);
    const list = await createList(here.api, RECIPIENTS);
    const start = (more: object) => createSmsCampaign(here.api, list, template, { ...more });
    const paced = new Array<string>(PACED);
    const begunAt = Date.now();
    await inParallel([...paced.keys()], 4, async (i) => {
      paced[i] = await start({ delivery: { ratePerSecond: 1 / EVERY_SECONDS } });
    });
    const paused = await start({ delivery: { ratePerSecond: 1 / EVERY_SECONDS } });
    const hour = new Date(Date.now() + 12 * 3_600_000).getUTCHours();
    const clock = (offset: number) => `${String((hour + offset) % 24).padStart(2, '0')}:00`;
    // All hours are quiet but one, twelve hours from now.
    const quiet = await start({
      delivery: { quietHours: { from: clock(1), to: clock(0), timezone: 'UTC' } },
    });
    await here.api.expect('POST', `/api/campaign/${paused}/pause`);
    await until('the first of each', () => here.record('sms').distinct >= PACED, LIMIT_MS, 100);

    await here.fanfare.killGroup();
    await here.run();
    await sleep(2_000);
    const stoppedAt = Date.now();
    expect(await here.fanfare.stop()).toBe(0);
    expect(Date.now() - stoppedAt).toBeLessThan(10_000);
    await here.run();
    const [temporal = 0] = readFileSync(join(here.place.dataDir, 'temporal.pid'), 'utf8')
      .split(' ')
      .map(Number);
    process.kill(temporal, 'SIGKILL');

    await here.api.expect('POST', `/api/campaign/${paused}/resume`);
    let settled = 0;
    for (const id of [...paced, paused]) {
      const { counts } = await untilPhase(here.api, id, ['completed'], LIMIT_MS);
      const { total, rejected = 0, failed = 0, unknown } = counts.sms ?? {};
      expect([total, unknown]).toEqual([RECIPIENTS, 0]);
      settled += RECIPIENTS - rejected - failed;
    }
    expect(Date.now() - begunAt).toBeGreaterThanOrEqual((RECIPIENTS - 1) * EVERY_SECONDS * 1_000);
    const { distinct, duplicates, duplicateUids } = here.record('sms');
    expect([distinct, duplicates, duplicateUids]).toEqual([settled, [], []]);

    const { phase, counts } = await campaignDetail(here.api, quiet);
    expect([phase, counts.sms?.pending]).toEqual(['running', RECIPIENTS]);
    await here.api.expect('POST', `/api/campaign/${quiet}/cancel`);
    await untilPhase(here.api, quiet, ['canceled'], LIMIT_MS);
  }, 400_000);
});

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
