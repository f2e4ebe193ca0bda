import { setTimeout as delay } from 'node:timers/promises';
import { inParallel } from '../../src/domain/in-parallel';
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

const LIMIT_MS = 120_000;
/** More than a worker takes on at once, so that those that wait would stop it if each held a place. */
const WAITING = LIMITS.orchestratorActivities + 50;
/** Of a campaign beside others, against one alone: a busy machine makes both slow, and a held place costs up to a minute. */
const SLOWER = 4;
const HELD_MS = 15_000;
const FIFTY = 50;
const EACH = 30;

describe('campaigns beside others that wait', () => {
  let here: Installation;
  let template: string;
  let pair: string;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '10' });
    template = await createSmsTemplate(here.api);
    pair = await createList(here.api, 2, 'pair');
  }, 120_000);

  afterAll(async () => {
    await here?.remove();
  });

  const start = (listId: string, more: Record<string, unknown> = {}) =>
    createSmsCampaign(here.api, listId, template, more);
  const accepted = async (id: string) => {
    const {
      total = 0,
      pending = 0,
      waiting = 0,
      sending = 0,
    } = (await campaignDetail(here.api, id)).counts.sms ?? {};
    return total - pending - waiting - sending;
  };

  /** Those of a campaign that the carrier has, by the campaign's own counts. */
  const handedOver = async (id: string) => {
    const {
      sent = 0,
      delivered = 0,
      undelivered = 0,
    } = (await campaignDetail(here.api, id)).counts.sms ?? {};
    return sent + delivered + undelivered;
  };

  /** Waits for as long as it goes on, since that depends on the machine. */
  async function untilAll(handOvers: number): Promise<void> {
    let [reached, since] = [0, Date.now()];
    for (;;) {
      const now = here.record('sms').handOvers;
      if (now >= handOvers) return;
      if (now > reached) [reached, since] = [now, Date.now()];
      if (Date.now() - since > LIMIT_MS)
        throw new Error(`${reached} of ${handOvers} handed over, and no other for ${LIMIT_MS} ms`);
      await delay(500);
    }
  }

  async function timeOf(contacts: number, prefix: string): Promise<number> {
    const id = await start(await createList(here.api, contacts, prefix));
    const begun = Date.now();
    await untilPhase(here.api, id, ['completed'], LIMIT_MS);
    return Date.now() - begun;
  }

  test('a campaign starts and ends while more wait for an hour than a worker has places', async () => {
    const before = here.record('sms').handOvers;
    const waiting = new Array<string>(WAITING);
    await inParallel([...waiting.keys()], 8, async (i) => {
      waiting[i] = await start(pair, { delivery: { ratePerSecond: 1 / 3_600 } });
    });
    await untilAll(before + WAITING);
    const beside = await start(await createList(here.api, 100, 'beside'));
    await untilPhase(here.api, beside, ['completed'], LIMIT_MS);
    await here.api.expect('POST', `/api/campaign/${waiting[0]}/cancel`);
    await untilPhase(here.api, waiting[0] ?? '', ['canceled'], LIMIT_MS);
  }, 1_200_000);

  test('eight campaigns with a pace all go on, and hold no place that another campaign needs', async () => {
    const alone = await timeOf(200, 'alone');
    const list = await createList(here.api, 600, 'paced');
    const paced = new Array<string>(8);
    for (const i of paced.keys()) paced[i] = await start(list, { delivery: { ratePerSecond: 2 } });
    const goesOn = async () => (await Promise.all(paced.map(accepted))).every((count) => count >= 10);
    await until('ten of each', goesOn, LIMIT_MS, 500);
    expect(await timeOf(200, 'quick')).toBeLessThan(SLOWER * alone + HELD_MS);
    for (const id of paced) await here.api.expect('POST', `/api/campaign/${id}/cancel`);
  }, 300_000);

  test('of fifty campaigns that run at once each goes on, though their sender is slow', async () => {
    // Held at one a second until all messages of each are in the outbox: creating fifty takes a busy machine as long as sending.
    const senderRate = (rate: number) =>
      here.api.expect('PUT', '/api/sender-limit', { channel: 'sms', sender: '12345', rate, burst: 1 });
    await senderRate(1);
    const list = await createList(here.api, EACH, 'fifty', 4_000_000);
    const before = here.record('sms').handOvers;
    const ids = new Array<string>(FIFTY);
    await inParallel([...ids.keys()], 4, async (i) => {
      ids[i] = await start(list);
    });
    const ready = async () => (await Promise.all(ids.map(accepted))).every((count) => count === EACH);
    await until('all of fifty are ready', ready, LIMIT_MS, 1_000);
    await senderRate(75);
    const half = before + (FIFTY * EACH) / 2;
    await until('half of all', () => here.record('sms').handOvers >= half, LIMIT_MS, 100);
    // Counts follow the hand-overs, on a busy machine by seconds, so that the sender is held again meanwhile. Some campaigns'
    // counts come before those of others: what is compared has all that was handed over until then.
    await senderRate(1);
    const handedOverByThen = here.record('sms').handOvers - before;
    let reached: number[] = [];
    const follow = async () => {
      reached = await Promise.all(ids.map(handedOver));
      return reached.reduce((sum, count) => sum + count, 0) >= handedOverByThen;
    };
    await until('the counts follow', follow, LIMIT_MS, 200);
    // In exact turns each would have 15.
    expect(Math.min(...reached)).toBeGreaterThanOrEqual(EACH / 3);
    await here.api.expect('DELETE', '/api/sender-limit?channel=sms&sender=12345');
    for (const id of ids) await untilPhase(here.api, id, ['completed'], LIMIT_MS);
  }, 300_000);
});
