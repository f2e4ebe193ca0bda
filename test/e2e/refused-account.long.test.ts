import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { runFanfare } from '../support/fanfare-command';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const CONTACTS = 210;
const TIMEOUT_MS = 180_000;

describe('a carrier that refuses our account', () => {
  let carrier: Server;
  let here: Installation;
  /** The carrier knows our key. */
  let isKnown: boolean;
  let refusedAt: number[];
  /** By message: how often the carrier took it. */
  let taken: Map<string, number>;

  beforeAll(async () => {
    carrier = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const { uid } = JSON.parse(Buffer.concat(chunks).toString()) as { uid: string };
        if (isKnown) taken.set(uid, (taken.get(uid) ?? 0) + 1);
        else refusedAt.push(Date.now());
        response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((done) => carrier.listen(0, '127.0.0.1', done));
    const { port } = carrier.address() as AddressInfo;
    here = await Installation.start({
      FANFARE_SMS_PROVIDER: 'http',
      FANFARE_SMS_HTTP_URL: `http://us:key@127.0.0.1:${port}/`,
    });
  }, 120_000);
  beforeEach(() => {
    isKnown = false;
    refusedAt = [];
    taken = new Map();
  });
  afterAll(async () => {
    await here?.remove();
    carrier?.close();
    carrier?.closeAllConnections();
  });

  const accounts = async () => {
    const answer = await fetch(`${here.fanfare.baseUrl}/readyz`);
    return ((await answer.json()) as { accounts: Record<string, unknown>[] }).accounts;
  };

  test(
    'costs a campaign nobody: it waits, and goes on by itself when the key is right',
    async () => {
      const listId = await createList(here.api, CONTACTS);
      const id = await createSmsCampaign(here.api, listId, await createSmsTemplate(here.api));
      await until('the carrier has refused', () => refusedAt.length > 0, 60_000);
      await until(
        'the account is shown as paused',
        async () =>
          (await accounts()).some(
            ({ channel, state, reason }) => channel === 'sms' && state === 'paused' && reason === 'http_401',
          ),
        20_000,
      );
      const { out } = await runFanfare(['doctor', '--json'], here.place.env).ended;
      const { findings } = JSON.parse(out) as { findings: { check: string; state: string; found: string }[] };
      expect(findings.find(({ check }) => check === 'sms account')).toMatchObject({
        state: 'broken',
        found: expect.stringContaining('http_401'),
      });
      const offeredAtFirst = refusedAt.length;
      // Single probes follow.
      await until('the carrier was tried again', () => refusedAt.length >= offeredAtFirst + 2, 60_000);
      const waiting = await campaignDetail(here.api, id);
      expect(waiting.phase).toBe('running');
      expect(waiting.counts.sms).toMatchObject({ total: CONTACTS, rejected: 0, failed: 0, unknown: 0 });

      isKnown = true;
      await untilPhase(here.api, id, ['completed'], 120_000);
      expect((await campaignDetail(here.api, id)).counts.sms).toMatchObject({ sent: CONTACTS });
      expect(taken.size).toBe(CONTACTS);
      expect([...taken.values()].filter((times) => times !== 1)).toEqual([]);
      expect((await accounts()).find(({ channel }) => channel === 'sms')).toMatchObject({ state: 'ok' });
    },
    TIMEOUT_MS,
  );

  test(
    'lets messages expire in time, those too that nothing was tried with',
    async () => {
      const templateId = await createSmsTemplate(here.api);
      const expiresAt = Date.now() + 4_000;
      const messages = Array.from({ length: 20 }, (_, i) => ({
        channel: 'sms',
        uid: `late-${i}`,
        to: `+1202555${String(1_000 + i)}`,
        from: '12345',
        'template-id': templateId,
        params: { NAME: 'Ada' },
        expiresAt: new Date(expiresAt).toISOString(),
      }));
      await here.api.expect('POST', '/send-msg/bulk', { messages });
      await until(
        'all are expired',
        async () => {
          const { data } = await here.api.expect<{ data: unknown[] }>(
            'GET',
            '/messages?state=expired&limit=100',
          );
          return data.length === messages.length;
        },
        30_000,
      );
      const { data } = await here.api.expect<{ data: { events: { type: string; at: string }[] } }>(
        'GET',
        '/messages/late-7',
      );
      const told = data.events.find(({ type }) => type === 'expired');
      expect(Date.parse(told?.at ?? '') - expiresAt).toBeLessThan(5_000);
      expect(taken.size).toBe(0);
    },
    TIMEOUT_MS,
  );
});
