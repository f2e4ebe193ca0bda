import type { Kysely } from 'kysely';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { createSmsParts } from '../../../src/messaging/receipts/sms-parts';
import type { Provider, Receipt } from '../../../src/providers/provider';
import { receiptText, type Smsc, type SmscOptions } from '../../support/smsc';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { centre, LONG, message, one, open } from './smpp-rig';

describeWithDatabase('receipts of an SMS centre', (database) => {
  let db: Kysely<MessagingTables>;
  let opened = 0;
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });

  const ready = async (options: SmscOptions) => {
    // Every test has ids of its own, as if its centre were another.
    const parts = createSmsParts({ db, provider: `smpp${++opened}` });
    const smsc = await centre(options);
    const received: Receipt[] = [];
    const start = async (): Promise<Provider> => {
      const provider = open(smsc, { parts });
      await provider.start(async (receipts) => void received.push(...receipts));
      return provider;
    };
    return { smsc, received, start };
  };

  const WRITINGS: [string, SmscOptions][] = [
    ['as they were answered', {}],
    [
      'in decimal, when they were hexadecimal',
      {
        idInAnswer: (n) => (n + 0xabc).toString(16).toUpperCase(),
        receipt: (part, n, state) => receiptText(part, String(n + 0xabc).padStart(10, '0'), state),
      },
    ],
    [
      'in hexadecimal, when they were decimal',
      {
        idInAnswer: (n) => String(n + 0xabc),
        receipt: (part, n, state) => receiptText(part, (n + 0xabc).toString(16), state),
      },
    ],
    [
      'in a TLV alone',
      {
        receipt: (part) => ({
          source_addr: part.to,
          destination_addr: part.from,
          esm_class: 4,
          receipted_message_id: part.id,
          message_state: 2,
        }),
      },
    ],
  ];

  test.each(WRITINGS)('find their messages by ids %s, one part or several', async (_how, options) => {
    const { received, start } = await ready(options);
    const provider = await start();
    const sent = [message(), message(LONG)];
    await provider.handOver(sent);
    await until('both', () => received.length >= 2);
    expect(received.map(({ id, type }) => [id, type]).sort()).toEqual(
      sent.map(({ id }) => [id, 'delivered']).sort(),
    );
  });

  test('that come before the answers find their messages too', async () => {
    const { received, start } = await ready({ receiptFirst: true });
    const provider = await start();
    const sent = [message(), message(LONG)];
    await provider.handOver(sent);
    await until('both', () => received.length >= 2);
    expect(new Set(received.map(({ id }) => id))).toEqual(new Set(sent.map(({ id }) => id)));
  });

  test('of parts that a former process sent make their message whole', async () => {
    const { smsc, received, start } = await ready({ silent: true });
    const first = await start();
    const sent = message(LONG);
    await first.handOver([sent]);
    await first.close();
    await start();
    const [one, two, three] = smsc.taken;
    if (!one || !two || !three) throw new Error('three parts were expected');
    smsc.deliver(receiptText(three, three.id, 'DELIVRD'));
    smsc.deliver(receiptText(one, one.id, 'DELIVRD'));
    await until('two to be acknowledged', () => smsc.owed() === 0);
    expect(received).toEqual([]);
    smsc.deliver(receiptText(two, two.id, 'DELIVRD'));
    await until('the whole', () => received.length > 0);
    expect(received).toMatchObject([{ id: sent.id, type: 'delivered' }]);
  });

  test('end a message by its worst part, as soon as that is known', async () => {
    const { smsc, received, start } = await ready({ silent: true });
    const sent = message(LONG);
    await (await start()).handOver([sent]);
    const [one, two] = smsc.taken;
    if (!one || !two) throw new Error('three parts were expected');
    smsc.deliver(receiptText(one, one.id, 'DELIVRD'));
    smsc.deliver(receiptText(two, two.id, 'UNDELIV'));
    await until('the whole', () => received.length > 0);
    expect(received).toMatchObject([{ id: sent.id, type: 'undelivered', code: 'smpp_undeliv_034' }]);
  });

  test('come by their own ids when nobody knows them', async () => {
    const { smsc, received, start } = await ready({ silent: true });
    await start();
    const stranger = { to: '12125550190', from: '12345' } as Smsc['taken'][number];
    smsc.deliver(receiptText(stranger, 'of-another-process', 'DELIVRD'));
    await until('it', () => received.length > 0);
    expect(received).toMatchObject([
      {
        providerId: 'of-another-process',
        type: 'delivered',
        about: { to: '+12125550190', from: '12345', reference: undefined },
      },
    ]);
  });

  test('that name another recipient are looked up, because the centre may have given an id again', async () => {
    const { smsc, received, start } = await ready({ silent: true });
    const former = message();
    await (await start()).handOver([former]);
    const [taken] = smsc.taken;
    if (!taken) throw new Error('a part was expected');
    smsc.deliver(receiptText({ ...taken, to: '12125550191' }, taken.id, 'UNDELIV'));
    await until('it', () => received.length > 0);
    expect(received).toMatchObject([{ providerId: taken.id, about: { to: '+12125550191' } }]);
    // Without the country, as some centres write it.
    smsc.deliver(receiptText({ ...taken, to: taken.to.slice(1) }, taken.id, 'DELIVRD'));
    await until('the other', () => received.length > 1);
    expect(received[1]).toMatchObject({ id: former.id, type: 'delivered' });
  });

  test('settle a message whose answer came too late', async () => {
    const { received, start } = await ready({ latencyMs: 400 });
    const sent = message();
    expect(await one(await start(), sent)).toEqual({ kind: 'unknown' });
    await until('the receipt', () => received.length > 0);
    expect(received).toMatchObject([{ id: sent.id, type: 'delivered' }]);
  });
});
