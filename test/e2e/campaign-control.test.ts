import { readFileSync } from 'node:fs';
import { type RecordSummary, recordFile } from '../../src/providers/simulator/simulator-record';
import {
  ApiClient,
  type CampaignDetail,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { asUser } from '../support/as-user';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const SETTLED_MS = 120_000;

describe('control of a campaign through the whole program', () => {
  let here: Installation;
  /** By a client of its own: the installation's is what the campaigns themselves use. */
  let api: ApiClient;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '10' });
    const { data } = await asOwner<{ data: { id: string; secret: string } }>('POST', '/api/admin/clients', {
      name: 'tests',
    });
    api = new ApiClient(here.fanfare.baseUrl, { ...here.credentials, client: data });
  }, 120_000);

  afterAll(async () => {
    await api?.close();
    await here?.remove();
  });

  const asOwner = <Body>(method: string, path: string, body?: object): Promise<Body> =>
    asUser(here.fanfare.baseUrl, here.credentials.user, method, path, body);

  const record = (): RecordSummary => here.record('sms');

  /** When each message of a campaign's run was handed over. */
  function handOverTimes({ runId }: { runId: string }): number[] {
    return (
      readFileSync(recordFile(here.recordDir, 'sms'), 'utf8')
        .split('\n')
        // The last one is being written, or empty.
        .slice(0, -1)
        .filter((line) => line.includes(`"uid":"${runId}.`))
        .map((line) => Date.parse((JSON.parse(line) as { at: string }).at))
    );
  }

  const detail = async (id: string) =>
    (await campaignDetail(api, id)) as CampaignDetail & {
      runId: string;
      ratePerSecond: number;
      eta: string | null;
      finishedAt: string | null;
    };

  const start = async (contacts: number, prefix: string, more: Record<string, unknown> = {}) =>
    createSmsCampaign(api, await createList(api, contacts, prefix), await createSmsTemplate(api), more);

  test('fails when the account is refused, uses no recipient’s attempt, and completes when it is resumed', async () => {
    const id = await start(300, 'fail', { delivery: { ratePerSecond: 60 } });
    const { runId } = await detail(id);
    await until('the first hand-overs', () => handOverTimes({ runId }).length > 30, 45_000, 20);
    await asOwner('POST', `/api/admin/clients/${here.credentials.client.id}/disable`);
    const failed = await untilPhase(api, id, ['failed', 'completed'], SETTLED_MS);
    expect(failed).toMatchObject({ phase: 'failed', status: 'completed' });
    expect(failed.reason).toMatch(/^invalid_client: /);
    const { pending = 0, sending = 0, failed: burnt } = failed.counts.sms ?? {};
    // Whoever is in an open page counts as being sent to.
    expect(pending + sending).toBeGreaterThan(50);
    expect(burnt).toBe(0);
    expect((await detail(id)).finishedAt).not.toBeNull();

    await asOwner('POST', `/api/admin/clients/${here.credentials.client.id}/enable`);
    await api.expect('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond: 50 } }).then(
      () => expect('a refusal').toBe('an answer'),
      (error: Error) => expect(error.message).toContain('illegal_transition'),
    );
    await api.expect('POST', `/api/campaign/${id}/resume`);
    const ended = await untilPhase(api, id, ['completed', 'failed'], SETTLED_MS);
    expect(ended).toMatchObject({ phase: 'completed', reason: null, workflowId: `campaign:${runId}:2` });
    const { total, ...states } = ended.counts.sms as Record<string, number>;
    expect([total, sum(states)]).toEqual([300, 300]);
    expect(handOverTimes({ runId })).toHaveLength(300 - (states.rejected ?? 0) - (states.failed ?? 0));
    expect(record().duplicateUids).toEqual([]);
  }, 150_000);

  test('sends no message of a paused campaign whose start time is removed, before it is resumed', async () => {
    const lists = [await createList(api, 5, 'paused'), await createList(api, 5, 'beside')];
    const template = await createSmsTemplate(api);
    const startAt = new Date(Date.now() + 86_400_000).toISOString();
    const id = await createSmsCampaign(api, lists[0] ?? '', template, { schedule: { startAt } });
    await api.expect('POST', `/api/campaign/${id}/pause`);
    expect(await createSmsCampaign(api, lists[0] ?? '', template, { campaignId: id })).toBe(id);
    await until('the audience', async () => (await detail(id)).counts.sms?.total === 5);

    const beside = await createSmsCampaign(api, lists[1] ?? '', template);
    await untilPhase(api, beside, ['completed'], SETTLED_MS);
    expect((await detail(id)).phase).toBe('paused');
    expect(handOverTimes(await detail(id))).toEqual([]);
    await api.expect('POST', `/api/campaign/${id}/resume`);
    await untilPhase(api, id, ['completed'], SETTLED_MS);
    expect(handOverTimes(await detail(id)).length).toBeGreaterThan(0);
  }, 150_000);

  test('a failed campaign is canceled for good, also while the account is still refused', async () => {
    const id = await start(300, 'give-up', { delivery: { ratePerSecond: 60 } });
    const { runId } = await detail(id);
    await until('the first hand-overs', () => handOverTimes({ runId }).length > 30, 45_000, 20);
    await asOwner('POST', `/api/admin/clients/${here.credentials.client.id}/disable`);
    try {
      await untilPhase(api, id, ['failed', 'completed'], SETTLED_MS);
      await api.expect('POST', `/api/campaign/${id}/cancel`);
      const ended = await untilPhase(api, id, ['canceled', 'failed', 'completed'], SETTLED_MS);
      expect(ended).toMatchObject({ phase: 'canceled', reason: expect.stringMatching(/^invalid_client: /) });
      const {
        total,
        pending = 0,
        waiting = 0,
        canceled = 0,
        ...others
      } = ended.counts.sms as Record<string, number>;
      expect([total, pending + waiting]).toEqual([300, 0]);
      expect(canceled).toBeGreaterThan(50);
      expect(canceled + sum(others)).toBe(300);
      await api.expect('POST', `/api/campaign/${id}/cancel`);
    } finally {
      await asOwner('POST', `/api/admin/clients/${here.credentials.client.id}/enable`);
    }
  }, 150_000);

  test('sends again only to the chosen recipients, as often as it is asked', async () => {
    // By the last two digits: 90 is delivered, 91 refused by the provider, 94 not delivered.
    const lines = ['externalId,name,phone'];
    for (const area of [202, 212, 213, 214, 215]) {
      for (const end of [90, 91, 94]) lines.push(`r${area}${end},Person,+1${area}55501${end}`);
    }
    const { data: list } = await api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: 'retry',
    });
    await api.expect('POST', `/api/contact-list/${list.id}/contacts`, lines.join('\n'), 'text/csv');
    const id = await createSmsCampaign(api, list.id, await createSmsTemplate(api));
    await untilPhase(api, id, ['completed'], SETTLED_MS);
    const undelivered = async () => (await detail(id)).counts.sms?.undelivered;
    await until('every outcome', async () => (await undelivered()) === 5, 45_000, 50);
    const { runId } = await detail(id);
    expect(handOverTimes({ runId })).toHaveLength(10);

    const refused = await api.call('POST', `/api/campaign/${id}/retry-failed`, { states: ['rejected'] });
    expect(refused.status).toBe(422);
    for (const round of [2, 3]) {
      const { data } = await api.expect<{ data: { retried: object; phase: string } }>(
        'POST',
        `/api/campaign/${id}/retry-failed`,
      );
      expect(data).toMatchObject({ retried: { sms: 5 }, phase: 'running' });
      await untilPhase(api, id, ['completed'], SETTLED_MS);
      await until('every outcome', async () => (await undelivered()) === 5, 45_000, 50);
      expect(await detail(id)).toMatchObject({ workflowId: `campaign:${runId}:${round}` });
      expect(handOverTimes({ runId })).toHaveLength(10 + 5 * (round - 1));
    }
    const page = await api.expect<{ data: { attempts: number; uid: string }[] }>(
      'GET',
      `/api/campaign/${id}/recipients?state=undelivered&limit=20`,
    );
    expect(page.data.map(({ attempts, uid }) => [attempts, uid.slice(-2)])).toEqual(
      Array.from({ length: 5 }, () => [3, '.2']),
    );
    expect(record().duplicateUids).toEqual([]);
  }, 150_000);

  test('calls again only recipients whom it did not reach', async () => {
    // By the last two digits: 90 answers, 95 does not.
    const lines = ['externalId,name,phone'];
    for (const area of [202, 212, 213]) {
      for (const end of [90, 95]) lines.push(`v${area}${end},Person,+1${area}55501${end}`);
    }
    const { data: list } = await api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: 'calls',
    });
    await api.expect('POST', `/api/contact-list/${list.id}/contacts`, lines.join('\n'), 'text/csv');
    const { template } = await api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      templateName: 'call',
      channel: 'voice',
      body: '<Response><Answer/><Say>Hello {{NAME}}</Say></Response>',
      voiceJson: {
        nodes: [{ id: '1', type: 'text', data: { isStart: true, isEndNode: true, text: 'Hello {{NAME}}' } }],
        edges: [],
        viewport: { x: 0, y: 0, zoom: 1 },
      },
    });
    const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
      campaignId: null,
      name: 'calls',
      channel: ['voice'],
      contactListId: [list.id],
      settings: { voice: { callerId: '+12025550100', templateId: template.id, version: 1 } },
      voice: { maxAttempts: 2, retry: { no_answer: { maxAttempts: 2, delaysSeconds: [0] } } },
    });
    const first = await untilPhase(api, data.id, ['completed'], SETTLED_MS);
    expect(first.counts.voice).toMatchObject({ delivered: 3, undelivered: 3 });
    const called = () => here.record('voice').handOvers;
    expect(called()).toBe(9);
    const again = await api.expect<{ data: { retried: object } }>(
      'POST',
      `/api/campaign/${data.id}/retry-failed`,
      { states: ['undelivered'] },
    );
    expect(again.data.retried).toEqual({ voice: 3 });
    const second = await untilPhase(api, data.id, ['completed'], SETTLED_MS);
    expect(second.counts.voice).toMatchObject({ delivered: 3, undelivered: 3 });
    expect(called()).toBe(15);
    const page = await api.expect<{ data: { attempts: number; uid: string }[] }>(
      'GET',
      `/api/campaign/${data.id}/recipients?state=undelivered&limit=20`,
    );
    expect(page.data.map(({ attempts, uid }) => [attempts, uid.slice(-2)])).toEqual([
      [4, '.4'],
      [4, '.4'],
      [4, '.4'],
    ]);
  }, 150_000);

  test('keeps its pace, also one that is changed on the way, and says how fast it is', async () => {
    const id = await start(1_500, 'pace', { delivery: { ratePerSecond: 50 } });
    const { runId } = await detail(id);
    await until('the first hand-overs', () => handOverTimes({ runId }).length > 0, 45_000, 20);
    await new Promise((done) => setTimeout(done, 6_500));
    const slow = await detail(id);
    expect(slow.phase).toBe('running');
    expect(slow.ratePerSecond).toBeGreaterThan(40);
    expect(slow.ratePerSecond).toBeLessThan(60);
    expect(Date.parse(slow.eta ?? '')).toBeGreaterThan(Date.now() + 10_000);
    await api.expect('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond: 200 } });
    const changedAt = Date.now();
    await new Promise((done) => setTimeout(done, 4_500));
    const times = handOverTimes({ runId });
    const from = Math.min(...times);
    const between = (start: number, end: number) => times.filter((at) => at >= start && at < end).length;
    // The simulator refuses some thirty in a thousand, and a lot is half a second.
    expect(between(from + 500, from + 5_500) / 5).toBeGreaterThan(43);
    expect(between(from + 500, from + 5_500) / 5).toBeLessThan(56);
    // Permits come in lots of half a second: of a hundred messages, four to six in this time.
    expect(between(changedAt + 1_500, changedAt + 4_000) / 2.5).toBeGreaterThan(155);
    expect(between(changedAt + 1_500, changedAt + 4_000) / 2.5).toBeLessThan(245);
    await api.expect('POST', `/api/campaign/${id}/pause`);
    expect(await detail(id)).toMatchObject({ ratePerSecond: 0, eta: null });
    await api.expect('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond: null } });
    await api.expect('POST', `/api/campaign/${id}/resume`);
    const ended = await untilPhase(api, id, ['completed'], 20_000);
    expect(ended.counts.sms?.total).toBe(1_500);
  }, 150_000);

  test('hands over nothing from a second after a pause, at full rate', async () => {
    const id = await start(12_000, 'full');
    const { runId } = await detail(id);
    await until('some hand-overs', () => handOverTimes({ runId }).length > 1_000, 45_000, 10);
    const askedAt = Date.now();
    await api.expect('POST', `/api/campaign/${id}/pause`);
    await new Promise((done) => setTimeout(done, 2_500));
    const times = handOverTimes({ runId });
    const lastMs = Math.max(...times) - askedAt;
    expect(times.length).toBeLessThan(11_000);
    expect(lastMs).toBeLessThan(1_000);
    await api.expect('POST', `/api/campaign/${id}/resume`);
    await untilPhase(api, id, ['completed'], SETTLED_MS);
    expect(record().duplicateUids).toEqual([]);
  }, 150_000);
});

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}
