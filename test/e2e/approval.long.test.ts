import {
  type CampaignDetail,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { asUser } from '../support/as-user';
import { Installation } from '../support/installation';

const LIMIT_MS = 240_000;
/** As many as several pieces of a freeze, so that it can be killed between two. */
const MORE = 20_000;

describe('a campaign that needs an approval, through the whole program', () => {
  let here: Installation;
  beforeAll(async () => {
    here = await Installation.start({ TEMPORAL_ADDRESS: '' });
  }, LIMIT_MS);
  afterAll(() => here?.remove());

  const approve = async (id: string) => {
    const path = `/api/campaign/${id}`;
    const { data } = await here.api.expect<{ data: { digest: string } }>('GET', `${path}/digest`);
    await asUser(here.fanfare.baseUrl, here.credentials.user, 'POST', `${path}/approve`, {
      digest: data.digest,
    });
  };
  const startAt = (inMs: number) => ({ schedule: { startAt: new Date(Date.now() + inMs).toISOString() } });

  test(
    'killed while it freezes more than was approved, it sends to none of them until it is approved again',
    async () => {
      const { api } = here;
      await api.expect('PUT', '/api/policy', { approval: { above: 10 } });
      const templateId = await createSmsTemplate(api);
      const [listId, small] = [await createList(api, 50), await createList(api, 50, 's', 4_000_000)];
      const soon = startAt(8_000);
      const id = await createSmsCampaign(api, listId, templateId, soon);
      // The same at the same time, and as it was approved.
      const unchanged = await createSmsCampaign(api, small, templateId, soon);
      for (const one of [id, unchanged]) {
        expect((await campaignDetail(api, one)).phase).toBe('draft');
        await approve(one);
        expect((await campaignDetail(api, one)).phase).toBe('scheduled');
      }
      const rows = Array.from({ length: MORE }, (_, i) => `m${i},Ann,+1202${3_000_000 + i}`);
      const csv = ['externalId,name,phone', ...rows].join('\n');
      await api.expect('POST', `/api/contact-list/${listId}/contacts`, csv, 'text/csv');

      await untilPhase(api, id, ['planning', 'running', 'paused'], 60_000, 20);
      await new Promise((done) => setTimeout(done, 300));
      await here.fanfare.killGroup();
      await here.run();
      const paused = await untilPhase(here.api, id, ['paused'], 60_000);
      expect(paused.reason).toMatchObject({ code: 'approval_required', contacts: 50 + MORE, allowed: 50 });
      const ended = await untilPhase(here.api, unchanged, ['completed'], 60_000);
      // Long enough for whatever was on its way.
      await new Promise((done) => setTimeout(done, 2_000));
      expect(here.record('sms').distinct).toBe(handedOver(ended));

      await approve(id);
      const all = await untilPhase(here.api, id, ['completed'], 120_000);
      const { distinct, duplicates } = here.record('sms');
      expect(all.counts.sms?.total).toBe(50 + MORE);
      expect([distinct, duplicates]).toEqual([handedOver(ended) + handedOver(all), []]);
    },
    LIMIT_MS,
  );
});

/** The simulated carrier refuses a few. */
function handedOver({ counts }: CampaignDetail): number {
  const { total = 0, rejected = 0, failed = 0 } = counts.sms ?? {};
  return total - rejected - failed;
}
