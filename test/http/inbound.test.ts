/** Proves how a carrier’s receipts and inbound messages are taken. */

import type { AddressInfo } from 'node:net';
import { inboundRoutes } from '../../src/http/inbound';
import type { App } from '../../src/http/request/routing';
import { buildServer } from '../../src/http/server';
import { createLog } from '../../src/log';
import type { InboundSms, Receipt } from '../../src/providers/provider';
import { NO_CALLERS } from '../support/no-callers';

describe('POST /inbound/http/{secret}', () => {
  let app: App;
  let base: string;
  let received: Receipt[];
  let inbound: InboundSms[];
  let refuse: Error | undefined;

  beforeAll(async () => {
    app = await buildServer({
      authenticator: NO_CALLERS,
      log: createLog('silent'),
      routes: [
        inboundRoutes({
          secret: 'the-secret',
          takeInbound: async (messages) => {
            if (refuse) throw refuse;
            inbound.push(...messages);
          },
          takeReceipts: async (receipts) => {
            if (refuse) throw refuse;
            received.push(...receipts);
          },
        }),
      ],
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/inbound/http`;
  });
  afterAll(() => app.close());
  beforeEach(() => {
    received = [];
    inbound = [];
    refuse = undefined;
  });

  async function post(body: unknown, secret = 'the-secret') {
    const response = await fetch(`${base}/${secret}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const answer = (await response.json()) as { data: unknown; errors: { path: string }[] };
    return { status: response.status, ...answer };
  }

  test('takes one receipt', async () => {
    const { status, data } = await post({ id: 'msg_1', type: 'delivered' });
    expect([status, data]).toEqual([200, { receipts: 1, inbound: 0 }]);
    expect(received).toEqual([{ id: 'msg_1', type: 'delivered' }]);
  });

  test('takes null for what the carrier does not know', async () => {
    const unknown = { providerId: null, code: null, at: null, data: null };
    const sms = { type: 'inbound', id: 'c1', from: '+12025550101', to: '12345', text: 'Hi', at: null };
    const { status } = await post([{ id: 'msg_1', type: 'delivered', ...unknown }, sms]);
    expect(status).toBe(200);
    expect(received).toEqual([{ id: 'msg_1', type: 'delivered' }]);
    expect(inbound).toHaveLength(1);
    expect((await post({ id: null, providerId: null, type: 'delivered' })).status).toBe(422);
  });

  test('takes many, in their order, with the time in UTC and numbers as text', async () => {
    await post([
      { providerId: 42, type: 'ringing', at: '2026-03-01T10:00:00+02:00' },
      { providerId: 42, type: 'completed', data: { answeredBy: 'human' }, carriersOwn: true },
      { id: 'msg_2', type: 'undelivered', code: 550 },
    ]);
    expect(received).toEqual([
      { providerId: '42', type: 'ringing', at: '2026-03-01T08:00:00.000Z' },
      { providerId: '42', type: 'completed', data: { answeredBy: 'human' } },
      { id: 'msg_2', type: 'undelivered', code: '550' },
    ]);
  });

  test('takes more receipts than one call of the sink holds', async () => {
    const many = Array.from({ length: 1_234 }, (_, n) => ({ id: `msg_${n}`, type: 'delivered' }));
    expect((await post(many)).data).toEqual({ receipts: 1_234, inbound: 0 });
    expect(received).toEqual(many);
  });

  test('takes an inbound SMS', async () => {
    const sms = { type: 'inbound', id: 'in-1', from: '+12125550190', to: '12345', text: 'STOP' };
    const { status, data } = await post([sms]);
    expect([status, data]).toEqual([200, { receipts: 0, inbound: 1 }]);
    expect(inbound).toEqual([sms]);
  });

  test('says what is wrong with an entry, and takes the others all the same', async () => {
    const { status, errors } = await post([
      { id: 'msg_1', type: 'eaten' },
      { id: 'msg_2', type: 'delivered' },
      { type: 'delivered' },
      'delivered',
      { id: 'msg_3', type: 'delivered', at: 'yesterday' },
    ]);
    expect(status).toBe(422);
    expect(errors.map(({ path }) => path)).toEqual(['0.type', '2.id', '3', '4.at']);
    expect(received).toEqual([{ id: 'msg_2', type: 'delivered' }]);
  });

  test('text that no database keeps costs at most the entry that has it', async () => {
    const sms = { type: 'inbound', id: 'in-1', from: '+12025550190', to: '12345', text: 'STOP\0' };
    const { status, errors } = await post([
      { id: 'msg_1', type: 'undelivered', code: '\ud800' },
      sms,
      { ...sms, from: 'a\0' },
      { id: 'msg_2', type: 'delivered' },
    ]);
    expect([status, errors.map(({ path }) => path)]).toEqual([422, ['2.from']]);
    expect(received).toMatchObject([{ id: 'msg_1' }, { id: 'msg_2' }]);
    expect(inbound).toEqual([sms]);
    expect((await post(sms)).status).toBe(200);
  });

  test('answers 422 to a body that is neither an object nor an array', async () => {
    expect((await post('delivered')).status).toBe(422);
  });

  test('answers 5xx when receipts cannot be stored, so that the carrier sends them again', async () => {
    refuse = new Error('the database is away');
    expect((await post({ id: 'msg_1', type: 'delivered' })).status).toBeGreaterThanOrEqual(500);
    refuse = undefined;
    expect((await post({ id: 'msg_1', type: 'delivered' })).status).toBe(200);
  });

  test('does not exist under another secret', async () => {
    for (const secret of ['the-secreT', 'the-secret-', 'x', '%20']) {
      expect((await post({ id: 'msg_1', type: 'delivered' }, secret)).status).toBe(404);
    }
    expect(received).toEqual([]);
  });
});
