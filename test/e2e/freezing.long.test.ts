import { LIMITS } from '../../src/domain/limits';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

/** Two shards, of 10,000 contacts and of the rest, and six pieces. */
const CONTACTS = 26_000;
const KILLS = 3;
const SETTLED_MS = 240_000;

describe('a campaign whose audience is frozen in pieces', () => {
  let here: Installation;
  let listId: string;
  let templateId: string;

  beforeAll(async () => {
    here = await Installation.start();
    listId = await createList(here.api, CONTACTS);
    templateId = await createSmsTemplate(here.api);
  }, 180_000);
  afterAll(() => here?.remove());

  const total = async (id: string) => (await campaignDetail(here.api, id)).counts.sms?.total ?? 0;

  test('is canceled while it is frozen: nothing more is handed over, and who was frozen is accounted for', async () => {
    const id = await createSmsCampaign(here.api, listId, templateId);
    await until('the first shard', async () => (await total(id)) > 0, 60_000, 10);
    const { data } = await here.api.expect<{ data: { phase: string } }>('POST', `/api/campaign/${id}/cancel`);
    expect(data.phase).toBe('canceled');
    await new Promise((done) => setTimeout(done, 1_000));
    const handedOver = here.record('sms').handOvers;
    const { counts } = await untilPhase(here.api, id, ['canceled'], SETTLED_MS);
    expect(here.record('sms').handOvers).toBe(handedOver);
    const { total: frozen = 0, canceled = 0, pending, waiting, sending } = counts.sms ?? {};
    expect([pending, waiting, sending]).toEqual([0, 0, 0]);
    expect(frozen).toBeGreaterThanOrEqual(LIMITS.firstShardContacts);
    expect(frozen).toBeLessThanOrEqual(CONTACTS);
    expect(canceled).toBeGreaterThan(0);
  }, 300_000);

  test('loses no recipient and hands no message over twice when it is killed during the freeze', async () => {
    const seed = Number(process.env.FANFARE_TEST_SEED ?? Date.now() % 1_000_000);
    process.stdout.write(`freezing is killed, seed ${seed}\n`);
    const before = here.record('sms').distinct;
    const id = await createSmsCampaign(here.api, listId, templateId);
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise((done) => setTimeout(done, between(seed + kill, 50, 700)));
      await here.fanfare.killGroup();
      await here.run();
    }
    const { counts } = await untilPhase(here.api, id, ['completed'], SETTLED_MS);
    const { total: frozen, rejected = 0, failed = 0, unknown } = counts.sms ?? {};
    expect([frozen, unknown]).toEqual([CONTACTS, 0]);
    const record = here.record('sms');
    expect([record.duplicates, record.duplicateUids]).toEqual([[], []]);
    expect(record.distinct - before + rejected + failed).toBe(CONTACTS);
  }, 400_000);
});

/** The same number for the same seed. */
function between(seed: number, low: number, high: number): number {
  const mixed = Math.imul(seed ^ (seed >>> 15), 0x2c1b3c6d) >>> 0;
  return low + (mixed % (high - low));
}
