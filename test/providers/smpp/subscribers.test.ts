import type { InboundSink, InboundSms } from '../../../src/providers/provider';
import type { Smsc } from '../../support/smsc';
import { until } from '../../support/until';
import { centre, open } from './smpp-rig';

describe('what a subscriber writes', () => {
  async function listening(inbound: InboundSink): Promise<Smsc> {
    const smsc = await centre();
    await open(smsc).start(async () => undefined, inbound);
    return smsc;
  }

  test('reaches the product, in every alphabet, and is acknowledged', async () => {
    const received: InboundSms[] = [];
    const smsc = await listening(async (messages) => void received.push(...messages));
    smsc.say({ from: '12125550190', to: '12345', text: 'Grüße' });
    const gsm = { data_coding: 0, short_message: Buffer.from([0x53, 0x54, 0x4f, 0x50, 0x00]) };
    smsc.say({ from: '12125550190', to: '12345', fields: gsm });
    const ucs2 = { data_coding: 8, short_message: Buffer.from('0441044204430434', 'hex') };
    smsc.say({ from: '12125550190', to: '12345', fields: ucs2 });
    // With a message class (3GPP TS 23.038, 4): UCS-2 and GSM-7.
    const classes = [
      { data_coding: 0x19, short_message: Buffer.from('00530054004f0050', 'hex') },
      { data_coding: 0x11, short_message: Buffer.from([0x53, 0x54, 0x4f, 0x50, 0x00]) },
    ];
    for (const fields of classes) smsc.say({ from: '12125550190', to: '12345', fields });
    await until('five messages', () => received.length === 5);
    expect(received.map(({ text }) => text)).toEqual(['Grüße', 'STOP@', 'студ', 'STOP', 'STOP@']);
    expect(received[0]).toMatchObject({ from: '+12125550190', to: '12345', at: expect.any(String) });
    expect(new Set(received.map(({ id }) => id)).size).toBe(5);
    await until('all to be acknowledged', () => smsc.owed() === 0);
  });

  test('is not acknowledged before it is taken, and offered again with the same id', async () => {
    const ids: string[] = [];
    const smsc = await listening(async (messages) => {
      ids.push(...messages.map(({ id }) => id));
      if (ids.length < 3) throw new Error('the database is away');
      expect(smsc.owed()).toBe(1);
    });
    smsc.say({ from: '12125550190', to: '12345', text: 'STOP' });
    await until('it to be acknowledged', () => smsc.owed() === 0);
    expect([ids.length, new Set(ids).size]).toEqual([3, 1]);
  });

  test('is from the number that the centre writes with two zeros in front', async () => {
    const received: InboundSms[] = [];
    const smsc = await listening(async (messages) => void received.push(...messages));
    for (const source_addr_ton of [0, 1, 2])
      smsc.say({ from: '0012125550190', to: '0012025550123', text: 'STOP', fields: { source_addr_ton } });
    await until('three messages', () => received.length === 3);
    for (const sms of received) expect(sms).toMatchObject({ from: '+12125550190', to: '+12025550123' });
  });

  test('may come as data_sm', async () => {
    const received: InboundSms[] = [];
    const smsc = await listening(async (messages) => void received.push(...messages));
    smsc.say({ from: '12125550190', to: '12345', text: 'STOP', command: 'data_sm' });
    await until('it to be acknowledged', () => smsc.owed() === 0);
    expect(received).toMatchObject([{ from: '+12125550190', to: '12345', text: 'STOP' }]);
  });

  test('in several parts, in any order, is one message', async () => {
    const received: InboundSms[] = [];
    const smsc = await listening(async (messages) => void received.push(...messages));
    const part = (number: number, text: string) => ({
      esm_class: 0x40,
      short_message: Buffer.from([5, 0, 3, 9, 2, number, ...Buffer.from(text)]),
    });
    smsc.say({ from: '12125550190', to: '12345', fields: part(2, ' world') });
    smsc.say({ from: '12125550190', to: '12345', fields: part(1, 'Hello') });
    await until('a message', () => received.length > 0);
    expect(received.map(({ text }) => text)).toEqual(['Hello world']);
    await until('both parts to be acknowledged', () => smsc.owed() === 0);
  });
});
