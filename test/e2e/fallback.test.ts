import { readHandOvers } from '../../src/providers/simulator/simulator-record';
import { campaignDetail, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const SETTLED_MS = 90_000;
/** Their SMS is undelivered with the default seed; who calls reaches a person. */
const SMS_FAILS = ['+12145550180', '+12295550180', '+12315550180'];
const SMS_ARRIVES = ['+12025550190', '+12125550190', '+12135550190'];

type Channel = 'email' | 'sms' | 'voice';
interface Contact {
  externalId: string;
  email?: string;
  phone?: string;
}

describe('campaigns that go from channel to channel, through the whole program', () => {
  let here: Installation;
  const templates: Partial<Record<Channel, string>> = {};

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '5' });
    const BODIES = {
      email: { subject: 'Hello', body: '<p>Hello</p>' },
      sms: { body: 'Hello' },
      voice: {
        body: '<Response><Answer/><Say>Hello</Say></Response>',
        voiceJson: {
          nodes: [{ id: '1', type: 'text', data: { isStart: true, isEndNode: true, text: 'Hello' } }],
          edges: [],
          viewport: { x: 0, y: 0, zoom: 1 },
        },
      },
    };
    for (const [channel, content] of Object.entries(BODIES)) {
      const { template } = await here.api.expect<{ template: { id: string } }>('POST', '/api/template/', {
        templateName: channel,
        channel,
        ...content,
      });
      templates[channel as Channel] = template.id;
    }
  }, 120_000);

  afterAll(() => here?.remove());

  async function campaign(channel: Channel[], contacts: Contact[], more: object = {}): Promise<string> {
    const { data: list } = await here.api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: channel.join(' then '),
    });
    const { data: imported } = await here.api.expect<{ data: { rejected: number } }>(
      'POST',
      `/api/contact-list/${list.id}/contacts`,
      { contacts },
    );
    expect(imported.rejected).toBe(0);
    const SENDERS = { email: 'fromEmail', sms: 'shortCode', voice: 'callerId' };
    const from = { email: 'news@example.com', sms: '12345', voice: '+12025550100' };
    const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
      campaignId: null,
      name: 'fallback',
      channel,
      settings: Object.fromEntries(
        channel.map((one) => [one, { [SENDERS[one]]: from[one], templateId: templates[one], version: 1 }]),
      ),
      contactListId: [list.id],
      strategy: 'fallback',
      ...more,
    });
    return data.id;
  }

  const record = (channel: Channel) => here.record(channel);

  /** How many messages of the campaign's run the carrier took. */
  async function handedOver(id: string, channel: Channel): Promise<number> {
    const { runId } = (await campaignDetail(here.api, id)) as unknown as { runId: string };
    const all = [...readHandOvers(here.recordDir, channel)];
    return all.filter(({ uid }) => uid.startsWith(`${runId}.`)).length;
  }

  async function recipients(id: string): Promise<string[]> {
    const { data } = await here.api.expect<{ data: Record<string, string | null>[] }>(
      'GET',
      `/api/campaign/${id}/recipients?limit=100`,
    );
    return data.map(({ channel, state, code }) => `${channel} ${state} ${code ?? '-'}`).sort();
  }

  function sums(counts: Record<string, Record<string, number>>): void {
    for (const { total = 0, ...states } of Object.values(counts)) {
      expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(total);
    }
  }

  test('calls only recipients whom the SMS did not reach', async () => {
    const contacts = [...SMS_FAILS, ...SMS_ARRIVES].map((phone) => ({ externalId: `c${phone}`, phone }));
    const id = await campaign(['sms', 'voice'], contacts);
    const { counts } = await untilPhase(here.api, id, ['completed', 'failed'], SETTLED_MS);
    sums(counts);
    expect(counts.sms).toMatchObject({ total: 6, delivered: 3, undelivered: 3 });
    expect(counts.voice).toMatchObject({ total: 6, delivered: 3, canceled: 3 });
    expect(await handedOver(id, 'voice')).toBe(3);
    expect(await recipients(id)).toEqual([
      ...Array.from({ length: 3 }, () => 'sms delivered -'),
      ...Array.from({ length: 3 }, () => 'sms undelivered unreachable'),
      ...Array.from({ length: 3 }, () => 'voice canceled reached_before'),
      ...Array.from({ length: 3 }, () => 'voice delivered -'),
    ]);
  }, 120_000);

  test('writes only to recipients whom no call reached, when the last redial is over', async () => {
    // A busy line that stays busy, one that is free at the redial, and one where somebody answers.
    const phones = ['+12195550194', '+12195550199', '+12195550190'];
    const id = await campaign(
      ['voice', 'sms'],
      phones.map((phone) => ({ externalId: `v${phone}`, phone })),
      { voice: { retry: { busy: { maxAttempts: 2, delaysSeconds: [1] } } } },
    );
    const { counts } = await untilPhase(here.api, id, ['completed', 'failed'], SETTLED_MS);
    sums(counts);
    expect(counts.voice).toMatchObject({ total: 3, delivered: 2, undelivered: 1 });
    expect(counts.sms).toMatchObject({ total: 3, canceled: 2 });
    expect([await handedOver(id, 'voice'), await handedOver(id, 'sms')]).toEqual([5, 1]);
  }, 120_000);

  test('begins with the next channel without an address, and goes on after silence', async () => {
    const id = await campaign(
      ['email', 'sms'],
      [
        { externalId: 's1', email: 'one+silent@example.com', phone: '+12145550190' },
        { externalId: 's2', email: 'two+delivered@example.com', phone: '+12155550190' },
        { externalId: 's3', phone: '+12165550190' },
      ],
      { fallbackAfterSeconds: 3 },
    );
    const { counts } = await untilPhase(here.api, id, ['completed', 'failed'], SETTLED_MS);
    sums(counts);
    expect(counts.email).toMatchObject({ total: 2, sent: 1, delivered: 1 });
    expect(counts.sms).toMatchObject({ total: 3, canceled: 1 });
    expect(await handedOver(id, 'sms')).toBe(2);
  }, 120_000);

  test('waits out a pause, and a cancel ends those whose turn has not come', async () => {
    const contacts = Array.from({ length: 5 }, (_, i) => ({
      externalId: `w${i}`,
      email: `w${i}+silent@example.com`,
      phone: `+12185550${i}90`,
    }));
    const id = await campaign(['email', 'sms', 'voice'], contacts, { fallbackAfterSeconds: 3_600 });
    await until('the emails', async () => (await handedOver(id, 'email')) === 5, SETTLED_MS);
    await here.api.expect('POST', `/api/campaign/${id}/pause`);
    await untilPhase(here.api, id, ['paused'], SETTLED_MS);
    await here.api.expect('POST', `/api/campaign/${id}/resume`);
    await untilPhase(here.api, id, ['running'], SETTLED_MS);
    await here.api.expect('POST', `/api/campaign/${id}/cancel`);
    const { counts } = await untilPhase(here.api, id, ['canceled'], SETTLED_MS);
    await until(
      'the books to be closed',
      async () => (await campaignDetail(here.api, id)).counts.voice?.canceled === 5,
      SETTLED_MS,
    );
    sums(counts);
    expect(await handedOver(id, 'sms')).toBe(0);
    expect(await handedOver(id, 'voice')).toBe(0);
  }, 120_000);

  test('reaches every recipient once when its process group is killed on the way', async () => {
    const people = 400;
    const contacts = Array.from({ length: people }, (_, i) => ({
      externalId: `k${i}`,
      email: `k${i}+${i % 2 ? 'bounce' : 'delivered'}@example.com`,
      phone: `+1202${3_000_000 + i}`,
    }));
    const id = await campaign(['email', 'sms'], contacts, { delivery: { ratePerSecond: 150 } });
    for (const smses of [1, 60]) {
      await until('some SMS', async () => (await handedOver(id, 'sms')) >= smses, SETTLED_MS, 20);
      await here.fanfare.killGroup();
      await here.run();
    }
    const { counts } = await untilPhase(here.api, id, ['completed', 'failed'], SETTLED_MS);
    sums(counts);
    expect(counts.email).toMatchObject({ total: people, delivered: people / 2, undelivered: people / 2 });
    expect(counts.sms).toMatchObject({ total: people, canceled: people / 2, pending: 0, waiting: 0 });
    const { rejected = 0, failed = 0 } = counts.sms ?? {};
    expect(await handedOver(id, 'sms')).toBe(people / 2 - rejected - failed);
    expect(record('email').duplicateUids).toEqual([]);
    expect(record('sms').duplicateUids).toEqual([]);
  }, 200_000);
});
