import { type Receiver, startReceiver } from '../messaging/webhooks/receiver';
import {
  type ApiClient,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const CONTACTS = 400;

describe('a process that is killed while it delivers webhooks', () => {
  let here: Installation;
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await startReceiver();
    here = await Installation.start({
      FANFARE_WEBHOOK_ALLOW_PRIVATE: 'true',
      FANFARE_SIMULATOR_LATENCY_MS: '5',
    });
  }, 120_000);
  afterAll(async () => {
    await here?.remove();
    await receiver.close();
  });

  test('delivers every event of the feed and every phase of the campaign all the same', async () => {
    await here.api.expect('POST', '/api/webhook', { url: receiver.url, events: ['*'] });
    const listId = await createList(here.api, CONTACTS);
    const templateId = await createSmsTemplate(here.api);
    const id = await createSmsCampaign(here.api, listId, templateId);
    for (const enough of [20, 300]) {
      await until(`${enough} are there`, () => receiver.taken.size >= enough, 60_000);
      await here.fanfare.killGroup();
      await here.run();
    }
    await untilPhase(here.api, id, ['completed'], 120_000);

    const wanted = await readFeed(here.api);
    expect(wanted.size).toBeGreaterThanOrEqual(2 * CONTACTS);
    const events = () => [...receiver.taken.values()].map(({ event }) => event);
    const isEveryOneTold = () => {
      const told = new Set(events().flatMap(({ data }) => data.sequence ?? []));
      return [...wanted].every((seq) => told.has(seq));
    };
    await until('all are there', isEveryOneTold, 120_000, 100);
    const phasesOf = () => events().filter(({ type }) => type.startsWith('campaign.'));
    await until('its end is told', () => phasesOf().some(({ type }) => type === 'campaign.completed'));
    const phases = phasesOf().sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp));
    expect(phases.map(({ data }) => data.phase)).toEqual(
      expect.arrayContaining(['planning', 'running', 'completed']),
    );
    expect(phases.at(-1)).toMatchObject({ data: { id, phase: 'completed' } });
    expect(phases.at(-1).data.counts.sms.total).toBe(CONTACTS);
  }, 300_000);
});

async function readFeed(api: ApiClient): Promise<Set<number>> {
  const seqs = new Set<number>();
  let after = '';
  for (;;) {
    const path = `/events?limit=1000&wait=0&after=${after}`;
    const page = await api.expect<{ data: { seq: number }[]; next: string }>('GET', path);
    if (page.data.length === 0) return seqs;
    for (const { seq } of page.data) seqs.add(seq);
    after = page.next;
  }
}
