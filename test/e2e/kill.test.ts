import { join } from 'node:path';
import { readRecord } from '../../src/providers/simulator-record';
import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import {
  type FanfareProcess,
  makePlace,
  type Place,
  readCredentials,
  startFanfare,
  untilReady,
} from '../support/fanfare-process';

const CONTACTS = 5_000;
const KILLS = 3;

describe('a campaign whose whole process group is killed again and again', () => {
  let place: Place;
  let fanfare: FanfareProcess;

  beforeAll(async () => {
    place = await makePlace({ FANFARE_SIMULATOR_LATENCY_MS: '50' });
  });
  afterAll(async () => {
    await fanfare?.stop();
    place.remove();
  });

  it('loses nobody and hands nobody over twice', async () => {
    const seed = Number(process.env.FANFARE_TEST_SEED ?? Date.now() % 1_000_000);
    process.stdout.write(`kill test, seed ${seed}\n`);
    fanfare = startFanfare(place);
    await untilReady(fanfare);
    const api = new ApiClient(fanfare.baseUrl, readCredentials(place));
    const listId = await createList(api, CONTACTS);
    const templateId = await createSmsTemplate(api);
    const id = await createSmsCampaign(api, listId, templateId);
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise((done) => setTimeout(done, between(seed + kill, 20, 900)));
      await fanfare.killGroup();
      fanfare = startFanfare(place);
      await untilReady(fanfare);
    }
    await untilPhase(api, id, ['completed'], 120_000);
    const { counts } = await campaignDetail(api, id);
    await api.close();

    const record = readRecord(join(place.dataDir, 'simulator'), 'sms');
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
