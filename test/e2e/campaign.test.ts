import { Client, Connection } from '@temporalio/client';
import type { RecordSummary } from '../../src/providers/simulator/simulator-record';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const SETTLED_MS = 120_000;
const HOUR_MS = 3_600_000;

describe('campaigns through the whole program', () => {
  let here: Installation;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '20', TEMPORAL_ADDRESS: '' });
  }, 120_000);

  afterAll(() => here?.remove());

  const record = (channel: 'email' | 'sms' | 'voice'): RecordSummary => here.record(channel);

  async function createTemplate(channel: string, content: Record<string, unknown>): Promise<string> {
    const { template } = await here.api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      templateName: `${channel} ${Date.now()}`,
      channel,
      ...content,
    });
    return template.id;
  }

  const createVoiceTemplate = () =>
    createTemplate('voice', {
      body: '<Response><Answer/><Say>Hello {{NAME}}</Say></Response>',
      voiceJson: {
        nodes: [{ id: '1', type: 'text', data: { isStart: true, isEndNode: true, text: 'Hello {{NAME}}' } }],
        edges: [],
        viewport: { x: 0, y: 0, zoom: 1 },
      },
    });

  test(
    'reaches everybody on three channels, and accounts for each',
    async () => {
      const listId = await createList(here.api, 60, 'three');
      const email = await createTemplate('email', {
        subject: 'Hello {{NAME}}',
        body: '<p>Hello {{NAME}}</p>',
        emailProviderId: '',
      });
      const sms = await createSmsTemplate(here.api);
      const voice = await createVoiceTemplate();
      const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
        campaignId: null,
        name: 'three channels',
        channel: ['email', 'sms', 'voice'],
        contactListId: [listId],
        settings: {
          email: { fromEmail: 'news@example.com', templateId: email, version: 1 },
          sms: { shortCode: '12345', templateId: sms, version: 1 },
          voice: { callerId: '+12025550100', templateId: voice, version: 1 },
        },
        voice: {
          retry: {
            busy: { maxAttempts: 2, delaysSeconds: [1] },
            no_answer: { maxAttempts: 2, delaysSeconds: [1] },
          },
          maxAttempts: 3,
        },
      });
      const detail = await untilPhase(here.api, data.id, ['completed', 'failed'], SETTLED_MS);
      expect(detail).toMatchObject({ phase: 'completed', status: 'completed' });
      for (const channel of ['email', 'sms', 'voice'] as const) {
        const { total, ...states } = detail.counts[channel] as Record<string, number>;
        expect([channel, total]).toEqual([channel, 60]);
        expect([channel, sum(states)]).toEqual([channel, 60]);
        const open =
          (states.pending ?? 0) + (states.waiting ?? 0) + (states.sending ?? 0) + (states.accepted ?? 0);
        expect([channel, open]).toEqual([channel, 0]);
        expect([channel, record(channel).duplicates]).toEqual([channel, []]);
      }
      // A busy or unanswered call was made again, under a uid of its own.
      expect(record('voice').distinct).toBeGreaterThan(60 - (detail.counts.voice?.rejected ?? 0));

      const page = await here.api.expect<{ data: { uid: string; state: string }[] }>(
        'GET',
        `/api/campaign/${data.id}/recipients?channel=sms&limit=10`,
      );
      expect(page.data).toHaveLength(10);
      const tracked = await here.api.expect<{ data: { state: string; events: { type: string }[] } }>(
        'GET',
        `/messages/${page.data[0]?.uid}`,
      );
      expect(tracked.data.events[0]?.type).toBe('accepted');
      await expectNoSecretsInHistories(data.id);
    },
    SETTLED_MS + 30_000,
  );

  /** What a run leaves at the Temporal server: ids and counts, and nothing of anybody's. */
  async function expectNoSecretsInHistories(campaignId: string): Promise<void> {
    const { workflowId } = await campaignDetail(here.api, campaignId);
    const runId = workflowId.replace('campaign:', '');
    const connection = await Connection.connect({ address: here.credentials.temporal.address });
    const client = new Client({ connection, namespace: here.credentials.temporal.namespace });
    let histories = 0;
    for await (const execution of client.workflow.list()) {
      if (!execution.workflowId.includes(runId) && !execution.workflowId.startsWith('outcomes:')) continue;
      const history = await client.workflow.getHandle(execution.workflowId, execution.runId).fetchHistory();
      // A build is named by a hash, which may look like a phone number.
      const text = readable(history).replace(/"buildId":"[^"]*"/g, '');
      histories++;
      for (const secret of [
        here.credentials.client.secret,
        here.credentials.apiKey,
        here.credentials.user.password,
        '@example.com',
        '+1202',
        'Bearer',
      ]) {
        expect([execution.workflowId, text.includes(secret)]).toEqual([execution.workflowId, false]);
      }
      expect(text).not.toMatch(/\+\d{8,15}/);
      expect(text).not.toMatch(/[\w.]+@[\w-]+\.[a-z]{2,}/);
      // The check has eyes: what is in a payload is seen.
      if (execution.workflowId === workflowId) expect(text).toContain(`"runId\\":\\"${runId}`);
    }
    await connection.close();
    // The run, a shard per channel, a call per person, and the feed.
    expect(histories).toBeGreaterThanOrEqual(1 + 3 + 50 + 1);
  }

  /** So that a campaign of this size lasts for seconds, whatever the machine. */
  async function sendSlowly(rate: number): Promise<void> {
    await here.api.expect('PUT', '/api/sender-limit', { channel: 'sms', sender: '12345', rate });
  }

  test('reaches no recipient in their quiet hours, and is canceled without waiting for the morning', async () => {
    const hour = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 16);
    const quietHours = { from: hour(-2 * HOUR_MS), to: hour(2 * HOUR_MS), timezone: 'recipient' };
    const { data: list } = await here.api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: 'h',
    });
    // Abidjan has the hour of UTC, Fiji the opposite one.
    const contacts = Array.from({ length: 40 }, (_, i) => ({
      name: `Person ${i}`,
      phone: `+1202290${1000 + i}`,
      timezone: i % 2 ? 'Africa/Abidjan' : 'Pacific/Fiji',
    }));
    await here.api.expect('POST', `/api/contact-list/${list.id}/contacts`, { contacts });
    const voice = await createVoiceTemplate();
    const before = record('sms').handOvers;
    const id = await createSmsCampaign(here.api, list.id, await createSmsTemplate(here.api), {
      channel: ['sms', 'voice'],
      settings: {
        sms: { shortCode: '12345', templateId: await createSmsTemplate(here.api), version: 1 },
        voice: { callerId: '+12025550100', templateId: voice, version: 1 },
      },
      delivery: { quietHours },
    });
    const open = async () => {
      const { sms = {}, voice: calls = {} } = (await campaignDetail(here.api, id)).counts;
      // A call that its carrier could not place is asked for again, and waits meanwhile.
      return [sms.pending, sms.sending, sms.accepted, calls.sending, calls.waiting];
    };
    await until(
      'all who may be reached',
      async () => (await open()).join() === '20,0,0,0,0',
      SETTLED_MS,
      100,
    );
    const { counts, phase } = await campaignDetail(here.api, id);
    expect([phase, counts.sms?.pending, counts.voice?.pending]).toEqual(['running', 20, 20]);
    expect(record('sms').handOvers - before).toBeLessThanOrEqual(20);
    // A call that its carrier could not place was asked for twice, so that people are counted and not calls.
    const called = `/api/campaign/${id}/recipients?channel=voice&limit=100`;
    const { data: calls } = await here.api.expect<{ data: { attempts: number }[] }>('GET', called);
    expect(calls.filter(({ attempts }) => attempts > 0)).toHaveLength(20);
    await here.api.expect('POST', `/api/campaign/${id}/cancel`);
    const canceled = await untilPhase(here.api, id, ['canceled'], 30_000);
    expect([canceled.counts.sms?.canceled, canceled.counts.voice?.canceled]).toEqual([20, 20]);
  }, 150_000);

  test('hands nothing over from a second after a pause, and goes on where it was after a resume', async () => {
    const contacts = 6_000;
    await sendSlowly(700);
    const before = record('sms').handOvers;
    const id = await createSmsCampaign(
      here.api,
      await createList(here.api, contacts, 'pause'),
      await createSmsTemplate(here.api),
    );
    await until('the first hand-overs', () => record('sms').handOvers > before + 100, 30_000, 20);
    await here.api.expect('POST', `/api/campaign/${id}/pause`);
    await new Promise((done) => setTimeout(done, 1_000));
    const held = record('sms').handOvers;
    await new Promise((done) => setTimeout(done, 1_500));
    expect(record('sms').handOvers).toBe(held);
    expect(held - before).toBeLessThan(contacts * 0.9);
    expect(await campaignDetail(here.api, id)).toMatchObject({ phase: 'paused', status: 'paused' });
    await here.api.expect('POST', `/api/campaign/${id}/resume`);
    const detail = await untilPhase(here.api, id, ['completed'], SETTLED_MS);
    expect(sum(detail.counts.sms ?? {}) - (detail.counts.sms?.total ?? 0)).toBe(contacts);
    expect(record('sms').duplicates).toEqual([]);
  }, 150_000);

  test('takes back what was not handed over when a campaign is canceled', async () => {
    const contacts = 6_000;
    await sendSlowly(400);
    const before = record('sms').handOvers;
    const id = await createSmsCampaign(
      here.api,
      await createList(here.api, contacts, 'cancel'),
      await createSmsTemplate(here.api),
    );
    await until('the first hand-overs', () => record('sms').handOvers > before + 100, 30_000, 20);
    await here.api.expect('POST', `/api/campaign/${id}/cancel`);
    const detail = await untilPhase(here.api, id, ['canceled'], SETTLED_MS);
    const handedOver = record('sms').handOvers - before;
    expect(handedOver).toBeLessThan(contacts * 0.9);
    expect(detail.status).toBe('completed');
    const accepted = async () => (await campaignDetail(here.api, id)).counts.sms?.accepted ?? 0;
    await until('every outcome', async () => (await accepted()) === 0, 30_000, 100);
    const { counts } = await campaignDetail(here.api, id);
    expect(counts.sms).toMatchObject({ total: contacts, pending: 0, waiting: 0, sending: 0, accepted: 0 });
    expect(sum(counts.sms ?? {})).toBe(2 * contacts);
    // Nothing more was handed over once the campaign was canceled.
    expect(record('sms').handOvers - before).toBe(handedOver);
    expect((counts.sms?.canceled ?? 0) + (counts.sms?.rejected ?? 0)).toBe(contacts - handedOver);
  }, 150_000);
});

function sum(counts: Record<string, number>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

/** A history as text, with its payloads decoded: they are base64 in it. */
function readable(history: unknown): string {
  return JSON.stringify(history, (key, value: unknown) =>
    key === 'data' && typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8') : value,
  );
}
