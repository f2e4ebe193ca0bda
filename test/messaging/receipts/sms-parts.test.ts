/** Proves the state of a long SMS from the receipts of its parts. */

import { type Kysely, sql } from 'kysely';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { keepOrphans } from '../../../src/messaging/receipts/receipt-rows';
import { createSmsParts } from '../../../src/messaging/receipts/sms-parts';
import type { Receipt } from '../../../src/providers/provider';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('the parts of long messages', (database) => {
  let db: Kysely<MessagingTables>;
  let parts: ReturnType<typeof createSmsParts>;
  let provider: string;
  let made = 0;

  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });
  beforeEach(() => {
    provider = `smpp${++made}`;
    parts = createSmsParts({ db, provider });
  });

  const of = (partId: string, type: Receipt['type'] = 'delivered', code?: string) => ({
    candidates: [partId],
    known: undefined,
    receipt: { type, code },
  });
  const record = (id: string, ...partIds: string[]) => parts.record([{ id, parts: partIds.length, partIds }]);

  test('are delivered when all of them are, also in one call', async () => {
    await record('msg_1', 'a', 'b', 'c');
    await record('msg_2', 'd', 'e');
    expect(await parts.resolve([of('a'), of('d')])).toEqual([]);
    const whole = await parts.resolve([of('c'), of('b'), of('e')]);
    expect(whole.map(({ id, type }) => [id, type]).sort()).toEqual([
      ['msg_1', 'delivered'],
      ['msg_2', 'delivered'],
    ]);
  });

  test('fail with the first that fails, and the worst is what counts', async () => {
    await record('msg_1', 'a', 'b', 'c');
    expect(await parts.resolve([of('a'), of('b', 'expired', 'late')])).toMatchObject([
      { id: 'msg_1', type: 'expired', code: 'late' },
    ]);
    expect(await parts.resolve([of('c', 'rejected', 'no')])).toMatchObject([
      { type: 'rejected', code: 'no' },
    ]);
  });

  test('have the same result when their receipts are repeated', async () => {
    await record('msg_1', 'a', 'b');
    await parts.resolve([of('a'), of('b')]);
    await record('msg_1', 'a', 'b');
    expect(await parts.resolve([of('b')])).toMatchObject([{ id: 'msg_1', type: 'delivered' }]);
  });

  test('are never whole while the id of one is not known', async () => {
    await parts.record([{ id: 'msg_1', parts: 3, partIds: ['a', 'b'] }]);
    expect(await parts.resolve([of('a'), of('b')])).toEqual([]);
    expect(await parts.resolve([of('b', 'failed')])).toMatchObject([{ id: 'msg_1', type: 'failed' }]);
  });

  test('are found by whichever candidate there is, the likeliest first', async () => {
    await record('msg_1', '1AB', '1AC');
    await record('msg_2', '427', '428');
    const asked = (candidates: string[]) => ({ ...of(''), candidates });
    await parts.resolve([asked(['427', '1AB']), asked(['zz', '1AC'])]);
    expect(await parts.resolve([of('428')])).toMatchObject([{ id: 'msg_2' }]);
    expect(await parts.resolve([of('1AB')])).toMatchObject([{ id: 'msg_1' }]);
  });

  test('leave receipts of other messages as they came', async () => {
    await record('msg_1', 'a', 'b');
    const [other] = await parts.resolve([of('x', 'undelivered', 'why'), of('a')]);
    expect(other).toMatchObject({ providerId: 'x', type: 'undelivered', code: 'why' });
  });

  test('take over an id that the centre gives anew, without what was said of it before', async () => {
    await record('msg_1', 'a', 'b');
    await parts.resolve([of('a', 'failed')]);
    await record('msg_2', 'a', 'c');
    expect(await parts.resolve([of('c')])).toEqual([]);
    expect(await parts.resolve([of('a')])).toMatchObject([{ id: 'msg_2', type: 'delivered' }]);
  });

  test('leave a receipt to a message of one part to which the centre gave the id of a part again', async () => {
    const ALICE = '+12125550131';
    const BOB = '+12125550132';
    const add = (id: string, to: string, providerId: string, sentMs: number) =>
      sql`insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, payload_hash, state,
          lane, accepted_seq, provider, provider_id, history)
        values (${id}, 'w', ${id}, 'sms', ${to}, '12345', '{}', 'marketing', 'h', 'sent', 'l', 1, ${provider}, ${providerId},
          ${JSON.stringify([`1 ${Date.now() + sentMs} sent +`])})`.execute(db);
    await add(`${provider}_long`, ALICE, 'a,b', 0);
    await record(`${provider}_long`, 'a', 'b');
    await add(`${provider}_before`, BOB, 'a', -86_400_000);
    expect(await parts.resolve([of('a', 'failed')])).toMatchObject([{ id: `${provider}_long` }]);
    await add(`${provider}_after`, BOB, 'a', 86_400_000);
    expect(await parts.resolve([of('a')])).toMatchObject([{ providerId: 'a', type: 'delivered' }]);
    const about = (to: string) => ({ ...of('a', 'failed'), about: { to, from: '12345' } });
    expect(await parts.resolve([about(BOB)])).toMatchObject([{ providerId: 'a' }]);
    expect(await parts.resolve([about(ALICE)])).toMatchObject([{ id: `${provider}_long` }]);
  });

  test('leave a receipt that names another recipient to the message to them that is on its way', async () => {
    const [alice, bob] = ['+12125550151', '+12125550152'];
    const add = (id: string, to: string, state: string) =>
      sql`insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, payload_hash, state,
          lane, accepted_seq, provider) values (${id}, 'w', ${id}, 'sms', ${to}, '12345', '{}', 'marketing', 'h', ${state},
          'l', 1, ${provider})`.execute(db);
    const [older, newer] = [`${provider}_older`, `${provider}_newer`];
    await add(older, alice, 'sent');
    await record(older, 'a', 'b');
    await add(newer, bob, 'accepted');
    await sql`insert into handover_batches (id, lane, fence, provider, message_ids)
      values (${`bat_${newer}`}, 'l', 1, ${provider}, ${[newer]}::text[])`.execute(db);
    const about = { to: bob, from: '12345' };
    const [left] = await parts.resolve([{ ...of('a', 'failed'), about }]);
    expect(left).toEqual({ providerId: 'a', type: 'failed', about });
    await keepOrphans(db, [{ provider, receipt: left as Receipt }]);
    const taken: Receipt[] = [];
    const take = () => parts.takeEarly(async (receipts) => void taken.push(...receipts));
    await take();
    expect(taken).toEqual([]);
    await sql`delete from handover_batches where id = ${`bat_${newer}`}`.execute(db);
    await sql`update messages set state = 'sent', provider_id = 'a,c' where id = ${newer}`.execute(db);
    await record(newer, 'a', 'c');
    await take();
    expect(taken).toMatchObject([{ id: newer, type: 'failed' }]);
  });

  test('get what was put aside for them before they were recorded, once it is taken', async () => {
    const early: Receipt = { providerId: 'a', type: 'delivered' };
    await keepOrphans(db, [
      { provider, receipt: early },
      { provider: 'another', receipt: early },
    ]);
    await record('msg_1', 'a', 'b');
    const told: Receipt[] = [];
    await parts.resolve([of('b')]);
    const away = parts.takeEarly(async () => {
      throw new Error('the database is away');
    });
    await expect(away).rejects.toThrow('away');
    await parts.takeEarly(async (receipts) => void told.push(...receipts));
    expect(told).toMatchObject([{ id: 'msg_1', type: 'delivered' }]);
    await parts.takeEarly(async (receipts) => void told.push(...receipts));
    expect(told).toHaveLength(1);
    const left = await db.selectFrom('orphan_receipts').select('provider').execute();
    expect(left).toEqual([{ provider: 'another' }]);
  });

  test('are forgotten when no receipt is to be expected any more', async () => {
    await record('msg_1', 'a', 'b');
    await record('msg_2', 'c', 'd');
    await db
      .updateTable('sms_parts')
      .set({ created_at: new Date(Date.now() - 200 * 3_600_000) })
      .where('provider', '=', provider)
      .where('message_id', '=', 'msg_1')
      .execute();
    await parts.takeEarly(async () => undefined);
    const rows = await db
      .selectFrom('sms_parts')
      .select('part_id')
      .where('provider', '=', provider)
      .orderBy('part_id')
      .execute();
    expect(rows.map(({ part_id }) => part_id)).toEqual(['c', 'd']);
  });
});
