/** Proves how Kannel’s reports and inbound SMS are taken. */

import type { AddressInfo } from 'node:net';
import { type OptedOutCodes, parseOptedOutCodes } from '../../src/domain/opted-out-codes';
import { inboundKannelRoutes } from '../../src/http/inbound-kannel';
import type { App } from '../../src/http/request/routing';
import { buildServer } from '../../src/http/server';
import { createLog } from '../../src/log';
import type { InboundSms, Receipt } from '../../src/providers/provider';
import { NO_CALLERS } from '../support/no-callers';

function codesOf(text: string): OptedOutCodes {
  const codes = parseOptedOutCodes(text);
  if (typeof codes === 'string') throw new Error(codes);
  return codes;
}

describe('/inbound/kannel/{secret}', () => {
  let app: App;
  let base: string;
  let receipts: Receipt[];
  let inbound: InboundSms[];
  let refused: { id?: string | undefined; code: string }[];
  let refuse: Error | undefined;

  beforeAll(async () => {
    const log = createLog('silent');
    app = await buildServer({
      authenticator: NO_CALLERS,
      log,
      routes: [
        inboundKannelRoutes({
          secret: 'the-secret',
          takeReceipts: async (batch) => {
            if (refuse) throw refuse;
            receipts.push(...batch);
          },
          takeInbound: async (batch) => void inbound.push(...batch),
          sendersRefused: async (batch) => void refused.push(...batch),
          optedOut: codesOf('0x455,451'),
        }),
      ],
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/inbound/kannel`;
  });
  afterAll(() => app.close());
  beforeEach(() => {
    [receipts, inbound, refused, refuse] = [[], [], [], undefined];
  });

  async function tell(query: Record<string, string>, { secret = 'the-secret', method = 'GET' } = {}) {
    const response = await fetch(`${base}/${secret}?${new URLSearchParams(query)}`, { method });
    const { data, errors } = (await response.json()) as { data: unknown; errors: { path: string }[] };
    return { status: response.status, data, errors };
  }

  test.each([
    ['1', 'id:1 stat:DELIVRD err:000', { type: 'delivered' }],
    ['2', 'id:1 stat:UNDELIV err:027', { type: 'undelivered', code: 'smpp_undeliv_027' }],
    ['2', 'id:0x1A stat:UNDELIV err:027', { type: 'undelivered', code: 'smpp_undeliv_027' }],
    [
      '2',
      'id:1 stat:UNDELIV err:0451',
      { type: 'undelivered', code: 'opted_out', data: { carrierCode: 'smpp_undeliv_0451' } },
    ],
    [
      '16',
      'NACK/0x00000455/Unknown',
      { type: 'rejected', code: 'opted_out', data: { carrierCode: 'smpp_0x455' } },
    ],
    ['1', 'id:1 stat:DELIVRD err:451', { type: 'delivered' }],
    ['2', 'id:1 stat:EXPIRED err:000', { type: 'expired', code: 'smpp_expired' }],
    ['2', 'id:1 stat:DELETED', { type: 'failed', code: 'smpp_deleted' }],
    ['2', '', { type: 'undelivered' }],
    ['16', 'NACK/0x0000000b/Invalid Destination Address', { type: 'rejected', code: 'smpp_0x0b' }],
  ])('takes a receipt of kind %s that says %j', async (dlr, answer, expected) => {
    const { status, data } = await tell({ id: 'msg_1', dlr, answer, time: '1795255200' });
    expect([status, data]).toEqual([200, { receipts: 1, inbound: 0 }]);
    expect(receipts).toEqual([{ id: 'msg_1', at: '2026-11-21T10:00:00.000Z', ...expected }]);
  });

  test('a refusal of the sender is one of all its messages, and that of a recipient is not', async () => {
    for (const answer of ['NACK/0x0000000b/Invalid Destination Address', 'NACK/0x0000000a/Invalid Source'])
      expect((await tell({ id: 'msg_1', dlr: '16', answer })).status).toBe(200);
    expect(receipts.map(({ code }) => code)).toEqual(['smpp_0x0b', 'smpp_0x0a']);
    expect(refused).toEqual([{ id: 'msg_1', code: 'smpp_0x0a' }]);
  });

  test.each(['4', '8', '32'])('takes kind %s for no news', async (dlr) => {
    expect((await tell({ id: 'msg_1', dlr })).status).toBe(200);
    expect(receipts).toEqual([]);
  });

  test('takes what a subscriber writes, by POST as well', async () => {
    const sms = { from: '+12125550190', to: '12345', text: 'Grüße +1', id: 'k-1' };
    expect((await tell(sms)).data).toEqual({ receipts: 0, inbound: 1 });
    expect((await tell({ ...sms, id: 'k-2', text: '' }, { method: 'POST' })).status).toBe(200);
    expect(inbound).toEqual([sms, { ...sms, id: 'k-2', text: '' }]);
  });

  test('a text or an answer with U+0000 in it is taken, and an address with it is not', async () => {
    const sms = { id: 'k-9', from: '+12025550190', to: '12345' };
    expect((await tell({ ...sms, text: 'STOP\0' })).status).toBe(200);
    expect(inbound).toMatchObject([{ from: '+12025550190', text: 'STOP ' }]);
    const words = 'id:1 stat:UNDELIV err:027\0';
    expect((await tell({ id: 'msg_1', dlr: '2', answer: words })).status).toBe(200);
    expect(receipts).toMatchObject([{ type: 'undelivered', code: 'smpp_undeliv_027' }]);
    expect((await tell({ ...sms, from: '+1\0', text: 'STOP' })).status).toBe(422);
  });

  test('says what is missing', async () => {
    expect((await tell({ id: 'k-1', text: 'x', to: '12345' })).errors).toMatchObject([{ path: 'from' }]);
    expect((await tell({ dlr: '1' })).status).toBe(422);
    expect((await tell({ id: 'x', dlr: 'one' })).status).toBe(422);
  });

  test('answers no success while nothing can be stored, so that Kannel comes again', async () => {
    refuse = new Error('the database is away');
    expect((await tell({ id: 'msg_1', dlr: '1' })).status).toBe(500);
  });

  test('is not there for who does not know the secret', async () => {
    expect((await tell({ id: 'msg_1', dlr: '1' }, { secret: 'another' })).status).toBe(404);
    expect(receipts).toEqual([]);
  });
});
