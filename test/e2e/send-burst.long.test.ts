import { inParallel } from '../../src/domain/in-parallel';
import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { addWorkspace } from '../support/as-user';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const LIMIT_MS = 180_000;
/** Twenty seconds' work of two cores. */
const BURST = 600;
const CAMPAIGNS = 120;
/** Long enough to accept them all on a slow machine. */
const PLANNED_MS = 20_000;

interface Send {
  id: string;
  sentAt: string | null;
}

/** Each durable send is a workflow of its own, and Temporal serves a queue in the order in which its tasks came. */
describe('a workspace that asks for hundreds of durable sends at once', () => {
  let here: Installation;
  let other: ApiClient;
  let sends = 0;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '10' });
    const second = await addWorkspace(here.fanfare.baseUrl, here.credentials.user, 'Second');
    other = new ApiClient(here.fanfare.baseUrl, second);
  }, 120_000);
  afterAll(async () => {
    await other?.close();
    await here?.remove();
  });

  async function send(api: ApiClient, template: string, more: object = {}): Promise<string> {
    const body = {
      ...{ channel: 'sms', uid: `send-${++sends}`, to: '+12125550190', from: '12345' },
      ...{ 'template-id': template, params: { NAME: 'Ada' }, ...more },
    };
    return (await api.expect<{ data: Send }>('POST', '/api/send', body)).data.id;
  }
  const isSent = async (api: ApiClient, id: string) =>
    (await api.expect<{ data: Send }>('GET', `/api/send/${id}`)).data.sentAt !== null;

  test('planned for one moment, holds up no send of another', async () => {
    const [template, othersTemplate] = [await createSmsTemplate(here.api), await createSmsTemplate(other)];
    const due = Date.now() + PLANNED_MS;
    const burst = new Array<string>(BURST);
    await inParallel([...burst.keys()], 20, async (i) => {
      burst[i] = await send(here.api, template, { sendAt: new Date(due).toISOString() });
    });
    expect(Date.now()).toBeLessThan(due);
    await until('they are due', async () => Date.now() > due + 1_000, LIMIT_MS);
    const askedAt = Date.now();
    const one = await send(other, othersTemplate);
    await until('the send of the other workspace', () => isSent(other, one), LIMIT_MS, 50);
    const waitedMs = Date.now() - askedAt;
    for (const id of burst) await until('the whole burst', () => isSent(here.api, id), LIMIT_MS, 200);
    expect(waitedMs).toBeLessThan((Date.now() - due) / 4);
    expect(here.record('sms').duplicateUids).toEqual([]);
  }, 400_000);

  test('or of campaigns holds up no campaign of another', async () => {
    const [template, othersTemplate] = [await createSmsTemplate(here.api), await createSmsTemplate(other)];
    const [list, othersList] = [
      await createList(here.api, 20, 'c', 5_000_000),
      await createList(other, 20, 'd', 6_000_000),
    ];
    const burst = new Array<string>(CAMPAIGNS);
    await inParallel([...burst.keys()], 20, async (i) => {
      burst[i] = await createSmsCampaign(here.api, list, template, { name: `burst ${i}` });
    });
    await untilPhase(
      other,
      await createSmsCampaign(other, othersList, othersTemplate),
      ['completed'],
      LIMIT_MS,
    );
    const phases = await Promise.all(burst.map(async (id) => (await campaignDetail(here.api, id)).phase));
    expect(phases.filter((phase) => phase === 'completed').length).toBeLessThan(0.4 * CAMPAIGNS);
    for (const id of burst) await untilPhase(here.api, id, ['completed'], LIMIT_MS);
    expect(here.record('sms').duplicateUids).toEqual([]);
  }, 400_000);

  test('holds up neither a send nor a campaign of another', async () => {
    const template = await createSmsTemplate(here.api);
    const othersTemplate = await createSmsTemplate(other);
    const list = await createList(other, 100);
    const burst = new Array<string>(BURST);
    await inParallel([...burst.keys()], 20, async (i) => {
      burst[i] = await send(here.api, template);
    });
    const one = await send(other, othersTemplate);
    const campaign = await createSmsCampaign(other, list, othersTemplate);
    await until('the send of the other workspace', () => isSent(other, one), LIMIT_MS, 50);
    await untilPhase(other, campaign, ['completed'], LIMIT_MS);
    expect(await isSent(here.api, burst[Math.floor(BURST * 0.9)] ?? '')).toBe(false);
    await until('the whole burst', () => isSent(here.api, burst.at(-1) ?? ''), LIMIT_MS, 500);
    expect(here.record('sms').duplicateUids).toEqual([]);
  }, 400_000);
});
