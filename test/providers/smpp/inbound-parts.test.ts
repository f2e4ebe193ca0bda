/** Proves that nothing of a long text is lost that the centre was told we have, whatever becomes of the process. */

import { type Kysely, sql } from 'kysely';
import { createInboundParts } from '../../../src/messaging/inbound/inbound-parts';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import type { InboundSms } from '../../../src/providers/provider';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { centre, open } from './smpp-rig';

describeWithDatabase('what a subscriber writes in several parts', (database) => {
  let db: Kysely<MessagingTables>;
  let inboundParts: ReturnType<typeof createInboundParts>;
  let opened = 0;
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });
  beforeEach(() => {
    inboundParts = createInboundParts({ db, provider: `smpp${++opened}` });
  });

  const FROM_TO = { from: '+12125550190', to: '12345' };
  const part = (number: number, text: string, total = 2, reference = 9) => ({
    ...FROM_TO,
    ...{ text, joined: { reference, total, number } },
  });
  const taken = async (): Promise<InboundSms[]> => {
    const all: InboundSms[] = [];
    await inboundParts.takeWhole(async (messages) => void all.push(...messages));
    return all;
  };

  test('is one message although the process is stopped after the centre was told we have the first', async () => {
    const smsc = await centre();
    const received: InboundSms[] = [];
    const start = async () => {
      const provider = open(smsc, { inboundParts });
      await provider.start(
        async () => undefined,
        async (messages) => void received.push(...messages),
      );
      return provider;
    };
    const say = (number: number, text: string) =>
      smsc.say({
        ...{ from: '12125550190', to: '12345' },
        fields: {
          esm_class: 0x40,
          short_message: Buffer.from([5, 0, 3, 9, 2, number, ...Buffer.from(text)]),
        },
      });
    const first = await start();
    say(1, 'ST');
    await until('the first part to be acknowledged', () => smsc.owed() === 0, 10_000);
    await first.close();
    await start();
    say(2, 'OP');
    await until('the message', () => received.length > 0, 10_000);
    await until('the second part to be acknowledged', () => smsc.owed() === 0, 10_000);
    expect(received).toMatchObject([{ ...FROM_TO, text: 'STOP' }]);
    expect(await taken()).toEqual([]);
  });

  test('comes with the same id again when it was not taken, and is then forgotten', async () => {
    await inboundParts.keep([part(1, 'ST'), part(1, 'ST')]);
    await inboundParts.keep([part(1, 'ST')]);
    expect(await taken()).toEqual([]);
    await inboundParts.keep([part(2, 'OP')]);
    const ids: string[] = [];
    const away = inboundParts.takeWhole(async (messages) => {
      ids.push(...messages.map(({ id }) => id));
      throw new Error('the database is away');
    });
    await expect(away).rejects.toThrow();
    const [again] = await taken();
    expect(again).toMatchObject({ ...FROM_TO, text: 'STOP', id: ids[0], at: expect.any(String) });
    expect(await taken()).toEqual([]);
  });

  test('is in its order, with a character of which each part has a half, and apart from others', async () => {
    const [high = '', low = ''] = '\u{1f600}'.split('');
    const parts = Array.from({ length: 12 }, (_, i) => part(i + 1, `${i === 0 ? '' : low}${i},${high}`, 12));
    await inboundParts.keep([...parts.reverse(), part(1, 'other', 2, 10)]);
    const text = Array.from({ length: 12 }, (_, i) => `${i},`).join('\u{1f600}');
    expect(await taken()).toMatchObject([{ text: `${text}${high}` }]);
  });

  test('is given as far as it came when the rest does not come, and a later one with its number is another', async () => {
    await inboundParts.keep([part(2, 'OP')]);
    await inboundParts.keep([part(2, 'new')]);
    await sql`update inbound_parts set created_at = now() - interval '301 seconds'`.execute(db);
    expect(await taken()).toMatchObject([{ text: 'new' }]);
  });

  test('is given once when its last part is stored by another process while it is given as far as it came', async () => {
    const given: string[] = [];
    const other = createInboundParts({ db, provider: `smpp${opened}` });
    await inboundParts.keep([part(1, 'ST'), part(2, 'O', 3), part(1, 'ST', 3)]);
    await sql`update inbound_parts set created_at = now() - interval '301 seconds'`.execute(db);
    await inboundParts.takeWhole(async (messages) => {
      await other.keep([part(3, 'P', 3)]);
      await other.takeWhole(
        async (those) => void given.push(...those.map(({ id, text }) => `${id} ${text}`)),
      );
      given.push(...messages.map(({ id, text }) => `${id} ${text}`));
    });
    expect([...new Set(given)].map((one) => one.split(' ')[1])).toEqual(
      expect.arrayContaining(['ST', 'STO']),
    );
    expect(new Set(given).size).toBe(2);
    await sql`update inbound_parts set created_at = now() - interval '301 seconds'`.execute(db);
    expect(await taken()).toMatchObject([{ text: 'P' }]);
  });
});
