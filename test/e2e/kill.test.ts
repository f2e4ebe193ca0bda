import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';

const CONTACTS = 5_000;
const KILLS = 3;

describe('a campaign whose whole process group is killed again and again', () => {
  let here: Installation;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '50', TEMPORAL_ADDRESS: '' });
  }, 120_000);
  afterAll(() => here?.remove());

  test('loses no recipient and hands no message over twice', async () => {
    const seed = Number(process.env.FANFARE_TEST_SEED ?? Date.now() % 1_000_000);
    process.stdout.write(`kill test, seed ${seed}\n`);
    const listId = await createList(here.api, CONTACTS);
    const templateId = await createSmsTemplate(here.api);
    const id = await createSmsCampaign(here.api, listId, templateId);
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise((done) => setTimeout(done, between(seed + kill, 20, 900)));
      await here.fanfare.killGroup();
      await here.run();
    }
    await untilPhase(here.api, id, ['completed'], 120_000);
    const { counts } = await campaignDetail(here.api, id);

    const record = here.record('sms');
    expect({ duplicates: record.duplicates, duplicateUids: record.duplicateUids }).toEqual({
      duplicates: [],
      duplicateUids: [],
    });
    const { total, ...states } = counts.sms as Record<string, number>;
    expect(total).toBe(CONTACTS);
    expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(CONTACTS);
    const {
      sent = 0,
      delivered = 0,
      undelivered = 0,
      expired = 0,
      rejected = 0,
      failed = 0,
      unknown = 0,
    } = states;
    expect(sent + delivered + undelivered + expired + rejected + failed + unknown).toBe(CONTACTS);
    // Everybody the carrier took is told apart from everybody it refused.
    expect(record.distinct + rejected + failed).toBe(CONTACTS);
    expect(unknown).toBe(0);
  }, 300_000);
});

/** The same number for the same seed. */
function between(seed: number, low: number, high: number): number {
  const mixed = Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d) >>> 0;
  return low + (mixed % (high - low));
}
