import { type Receiver, startReceiver } from '../messaging/webhooks/receiver';
import {
  ApiClient,
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
import { until } from '../support/until';

const CONTACTS = 400;

describe('a process that is killed while it delivers webhooks', () => {
  let place: Place;
  let fanfare: FanfareProcess;
  let receiver: Receiver;

  beforeAll(async () => {
    receiver = await startReceiver();
    place = await makePlace({ FANFARE_WEBHOOK_ALLOW_PRIVATE: 'true', FANFARE_SIMULATOR_LATENCY_MS: '5' });
  });
  afterAll(async () => {
    await fanfare?.stop();
    await receiver.close();
    place.remove();
  });

  it('tells every event of the feed and every phase of the campaign all the same', async () => {
    fanfare = startFanfare(place);
    await untilReady(fanfare);
    let api = new ApiClient(fanfare.baseUrl, readCredentials(place));
    await api.expect('POST', '/api/webhook', { url: receiver.url, events: ['*'] });
    const listId = await createList(api, CONTACTS);
    const templateId = await createSmsTemplate(api);
    const id = await createSmsCampaign(api, listId, templateId);
    for (const enough of [20, 300]) {
      await until(`${enough} are there`, () => receiver.taken.size >= enough, 60_000);
      await fanfare.killGroup();
      await api.close();
      fanfare = startFanfare(place);
      await untilReady(fanfare);
      api = new ApiClient(fanfare.baseUrl, readCredentials(place));
    }
    await untilPhase(api, id, ['completed'], 120_000);

    const wanted = await readFeed(api);
    expect(wanted.size).toBeGreaterThanOrEqual(2 * CONTACTS);
    const events = () => [...receiver.taken.values()].map(({ event }) => event);
    const told = () => new Set(events().flatMap(({ data }) => data.sequence ?? []));
    await until('all are there', () => [...wanted].every((seq) => told().has(seq)), 120_000, 100);
    const phasesOf = () => events().filter(({ type }) => type.startsWith('campaign.'));
    await until('its end is told', () => phasesOf().some(({ type }) => type === 'campaign.completed'));
    const phases = phasesOf().sort((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp));
    expect(phases.map(({ data }) => data.phase)).toEqual(
      expect.arrayContaining(['planning', 'running', 'completed']),
    );
    expect(phases.at(-1)).toMatchObject({ data: { id, phase: 'completed' } });
    expect(phases.at(-1).data.counts.sms.total).toBe(CONTACTS);
    await api.close();
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
