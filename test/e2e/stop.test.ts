import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { addWorkspace } from '../support/as-user';
import { runFanfare } from '../support/fanfare-command';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const CONTACTS = 400;
const RATE = 40;
const LIMIT_MS = 90_000;
/** Longer than the second within which nothing more may be handed over. */
const QUIET_MS = 3_000;

interface Taken {
  uid: string;
  from: string;
  at: number;
}

describe('a workspace that is stopped', () => {
  let carrier: Server;
  /** The carrier's own record, which no other part writes. */
  let taken: Taken[];
  let here: Installation;
  let theirs: ApiClient;

  beforeAll(async () => {
    taken = [];
    carrier = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const { uid, from } = JSON.parse(Buffer.concat(chunks).toString()) as Taken;
        taken.push({ uid, from, at: Date.now() });
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((done) => carrier.listen(0, '127.0.0.1', done));
    const { port } = carrier.address() as AddressInfo;
    here = await Installation.start({
      FANFARE_SMS_PROVIDER: 'http',
      FANFARE_SMS_HTTP_URL: `http://us:key@127.0.0.1:${port}/`,
    });
    const { fanfare, credentials } = here;
    const other = await addWorkspace(fanfare.baseUrl, credentials.user, 'Second');
    theirs = new ApiClient(fanfare.baseUrl, other);
  }, 120_000);
  afterAll(async () => {
    await theirs?.close();
    await here?.remove();
    carrier?.close();
    carrier?.closeAllConnections();
  });

  /** Those of the first workspace. */
  const ours = () => taken.filter(({ from }) => from === '12345');
  const sms = (templateId: string, uid: string, more: object = {}) => ({
    ...{ channel: 'sms', uid, to: '+12025550123', from: '12345', 'template-id': templateId },
    params: { NAME: 'Ada' },
    ...more,
  });

  test('hands nothing to a carrier through a restart, and then all goes on where it stood', async () => {
    const { api } = here;
    const templateId = await createSmsTemplate(api);
    const pace = { delivery: { ratePerSecond: RATE } };
    const id = await createSmsCampaign(api, await createList(api, CONTACTS), templateId, pace);
    const paused = await createSmsCampaign(api, await createList(api, 20, 'q', 3_000_000), templateId, {
      delivery: { ratePerSecond: 1 },
    });
    await api.expect('POST', `/api/campaign/${paused}/pause`);
    await until('the carrier has some', () => ours().length > 60, LIMIT_MS, 20);

    const { data: stop } = await api.expect<{ data: { since: string; by: string; reason: string } }>(
      'POST',
      '/api/stop',
      { reason: 'Wrong price' },
    );
    const answeredAt = Date.now();
    expect(stop).toEqual({
      since: expect.any(String),
      by: here.credentials.client.id,
      reason: 'Wrong price',
    });
    const again = await api.expect<{ data: object }>('POST', '/api/stop', { reason: 'Another reason' });
    expect(again.data).toEqual(stop);
    expect(await campaignDetail(api, id)).toMatchObject({ phase: 'running', stopped: stop });
    const list = await api.expect('GET', '/api/campaign?page=1&limit=10&channel=sms');
    expect(list).toMatchObject({ stopped: stop });

    await api.expect('POST', '/send-msg', sms(templateId, 'single', { class: 'transactional' }));
    const expiresAt = Date.now() + 2_000;
    const late = { expiresAt: new Date(expiresAt).toISOString() };
    await api.expect('POST', '/send-msg', sms(templateId, 'late', late));
    const durable = await api.expect<{ data: { id: string } }>(
      'POST',
      '/api/send',
      sms(templateId, 'durable'),
    );
    expect(durable.data).toMatchObject({ stopped: stop });
    const lateDurable = await api.expect<{ data: { id: string } }>(
      'POST',
      '/api/send',
      sms(templateId, 'late-durable', late),
    );
    const test = await api.call('POST', `/api/template/${templateId}/test-send`, {
      ...{ to: '+12025550123', from: '12345', params: { NAME: 'Ada' } },
    });
    expect([test.status, test.body.code]).toEqual([409, 'stopped']);
    const theirTemplate = await createSmsTemplate(theirs);
    await theirs.expect('POST', '/send-msg', { ...sms(theirTemplate, 'theirs'), from: '54321' });
    await until('theirs are handed over', () => taken.some(({ from }) => from === '54321'), LIMIT_MS, 20);
    await delay(QUIET_MS);
    const before = ours();
    expect(Math.max(...before.map(({ at }) => at))).toBeLessThan(answeredAt + 1_000);
    expect(before.length).toBeLessThan(CONTACTS / 2);

    await here.fanfare.killGroup();
    await here.run();
    await delay(QUIET_MS);
    expect(ours()).toHaveLength(before.length);
    const { out } = await runFanfare(['stop', '--status'], here.place.env).ended;
    expect(out).toContain('Wrong price');
    await until(
      'both late ones are expired',
      async () => {
        const message = await here.api.expect<{ data: { state: string } }>('GET', '/messages/late');
        const send = await here.api.expect<{ data: { state: string } }>(
          'GET',
          `/api/send/${lateDurable.data.id}`,
        );
        return message.data.state === 'expired' && send.data.state === 'expired';
      },
      LIMIT_MS,
    );

    const resumedAt = Date.now();
    await here.api.expect('DELETE', '/api/stop');
    await until('it goes on', () => ours().length > before.length + 3 * RATE, LIMIT_MS, 20);
    // No burst makes up for the time of the stop: what was accepted already leaves at once, the rest at the pace.
    const inFirst = ours().filter(({ at }) => at < resumedAt + 3_000).length - before.length;
    expect(inFirst).toBeLessThan(6 * RATE);
    await untilPhase(here.api, id, ['completed'], LIMIT_MS);
    await until('the single ones are handed over', () => {
      const uids = ours().map(({ uid }) => uid);
      return uids.includes('single') && uids.some((uid) => uid.startsWith(durable.data.id));
    });
    expect(await campaignDetail(here.api, paused)).toMatchObject({ phase: 'paused', stopped: null });
    const uids = ours().map(({ uid }) => uid);
    expect(new Set(uids).size).toBe(uids.length);
    expect(uids.some((uid) => uid.includes('late'))).toBe(false);
    const { runId } = (await campaignDetail(here.api, id)) as unknown as { runId: string };
    expect(uids.filter((uid) => uid.startsWith(runId))).toHaveLength(CONTACTS);
  }, 240_000);

  test('reports recipients of a campaign as expired within seconds of their time', async () => {
    const { api } = here;
    const templateId = await createSmsTemplate(api);
    const id = await createSmsCampaign(api, await createList(api, 100, 'r', 4_000_000), templateId, {
      delivery: { ratePerSecond: 2, expireAfterSeconds: 12 },
    });
    const dueAt = Date.now();
    await until(
      'it is sending',
      async () => ((await campaignDetail(api, id)).counts.sms?.sent ?? 0) > 2,
      LIMIT_MS,
    );
    await api.expect('POST', '/api/stop', { reason: 'Wrong list' });
    const counts = async () => (await campaignDetail(api, id)).counts.sms ?? {};
    await until(
      'the rest are expired',
      async () => {
        const { pending = 0, waiting = 0, sending = 0, expired = 0 } = await counts();
        return pending + waiting + sending === 0 && expired > 50;
      },
      LIMIT_MS,
    );
    expect(Date.now() - dueAt).toBeLessThan(25_000);
    const { total, ...states } = await counts();
    expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(total);
    await api.expect('DELETE', '/api/stop');
    await untilPhase(api, id, ['completed'], LIMIT_MS);
  }, 180_000);
});
