import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const LIMIT_MS = 60_000;
/** After the country and the area: one whose receipt is late (docs/simulator.md). */
const LATE_PHONE = 5_550_198;

describe('outcomes that no event reports any more, through the whole program', () => {
  let here: Installation;

  beforeAll(async () => {
    // The last receipt of one that is late comes 1 to 20 seconds after it was sent.
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '100' });
  }, 120_000);

  afterAll(async () => {
    await here?.remove();
  });

  test('are taken in by the next process, when the run has ended and nothing waits for them', async () => {
    const listId = await createList(here.api, 1, 'late', LATE_PHONE);
    const id = await createSmsCampaign(here.api, listId, await createSmsTemplate(here.api));
    await untilPhase(here.api, id, ['completed'], LIMIT_MS);
    await here.fanfare.stop();
    await here.run();
    const delivered = async () => (await campaignDetail(here.api, id)).counts.sms?.delivered === 1;
    await until('the campaign knows', delivered, LIMIT_MS);
  }, 150_000);
});
