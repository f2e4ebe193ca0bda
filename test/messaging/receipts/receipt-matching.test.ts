/** Proves when a receipt with an unknown id is matched to a message. */

import { type Kysely, sql } from 'kysely';
import type { MessageState } from '../../../src/domain/message';
import { messageReference } from '../../../src/domain/message-reference';
import type { DeliveryObserver } from '../../../src/messaging/model/observer';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { keepOrphans } from '../../../src/messaging/receipts/receipt-rows';
import { createSmsParts } from '../../../src/messaging/receipts/sms-parts';
import type { Receipt } from '../../../src/providers/provider';
import { describeWithDatabase } from '../../support/storage';

const HOUR_AGO = new Date(Date.now() - 3_600_000).toISOString();

describeWithDatabase('a receipt with an id that was never stored', (database) => {
  let db: Kysely<MessagingTables>;
  let provider: string;
  let to: string;
  let parts: ReturnType<typeof createSmsParts>;
  let counted: Record<string, number>;
  let made = 0;

  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });
  beforeEach(() => {
    provider = `smpp${++made}`;
    to = `+1212555${String(1_000 + made)}`;
    counted = {};
    const observer = {
      lostIds: (_, outcome, count) => {
        counted[outcome] = (counted[outcome] ?? 0) + count;
      },
    } as Partial<DeliveryObserver> as DeliveryObserver;
    parts = createSmsParts({ db, provider, observer });
  });

  interface Row {
    state?: MessageState;
    from?: string;
    segments?: number;
    providerId?: string;
    provider?: string;
    updatedAt?: string;
    createdAt?: string;
  }

  /** Handed over a moment ago, and its answer never read. */
  async function message(row: Row = {}): Promise<string> {
    const id = `msg_${provider}_${++made}`;
    await sql`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, payload_hash, state,
        provider, provider_id, segments, lane, accepted_seq, created_at, updated_at)
      values (${id}, 'ws', ${id}, 'sms', ${to}, ${row.from ?? '12345'}, '{}', 'marketing', '', ${row.state ?? 'unknown'},
        ${row.provider ?? provider}, ${row.providerId ?? null}, ${row.segments ?? 1}, 'lane', 1,
        ${row.createdAt ?? HOUR_AGO}::timestamptz, ${row.updatedAt ?? new Date().toISOString()}::timestamptz)
    `.execute(db);
    return id;
  }

  /** Told long enough ago. */
  async function told(partId: string, rest: Partial<Receipt> & { reference?: number; from?: string } = {}) {
    const { reference, from = '12345', type = 'delivered', ...more } = rest;
    const about = { to, from, reference };
    await keepOrphans(db, [{ provider, receipt: { providerId: partId, type, about, ...more } }]);
    await due();
  }
  const due = () => sql`update orphan_receipts set look_at = now() where look_at is not null`.execute(db);

  async function settle(asOnePart = false): Promise<Receipt[]> {
    const received: Receipt[] = [];
    await parts.settleLost(async (receipts) => void received.push(...receipts), { asOnePart });
    return received;
  }
  const waiting = async () =>
    (await db.selectFrom('orphan_receipts').select('provider_id').where('provider', '=', provider).execute())
      .map((row) => row.provider_id)
      .sort();

  test('settles the only message that can be meant, and says that it was matched', async () => {
    const id = await message();
    await told('57', { type: 'undelivered', code: 'why', data: { doneDate: '2611' } });
    expect(await settle()).toEqual([
      { id, type: 'undelivered', code: 'why', data: { doneDate: '2611', matchedBy: 'addresses' } },
    ]);
    expect(await waiting()).toEqual([]);
    expect(counted).toEqual({ matched: 1 });
  });

  test('is found by a sender that the centre writes without its plus', async () => {
    const id = await message({ from: '+12025550100' });
    await told('57', { from: '12025550100' });
    expect(await settle()).toMatchObject([{ id }]);
  });

  test('waits before it is looked at, and is asked for again if it was not taken', async () => {
    const id = await message();
    const about = { to, from: '12345' };
    await keepOrphans(db, [{ provider, receipt: { providerId: '57', type: 'delivered', about } }]);
    expect(await settle()).toEqual([]);
    await due();
    const away = parts.settleLost(() => Promise.reject(new Error('the database is away')), {
      asOnePart: false,
    });
    await expect(away).rejects.toThrow('away');
    expect(await settle()).toMatchObject([{ id, type: 'delivered' }]);
  });

  test('that is repeated is recognised, like any other of its id', async () => {
    const id = await message();
    await told('57');
    await settle();
    const again = { candidates: ['57'], known: undefined, receipt: { type: 'delivered' } } as const;
    expect(await parts.resolve([again])).toMatchObject([{ id, type: 'delivered' }]);
  });

  test.each<[string, Row[]]>([
    ['another of which nothing is known', [{}]],
    ['one that was sent and has not been told of', [{ state: 'sent', providerId: '12' }]],
  ])('stays with nobody beside %s, and is counted once', async (_, others) => {
    await message();
    for (const other of others) await message(other);
    await told('57');
    expect(await settle()).toEqual([]);
    await due();
    expect(await settle()).toEqual([]);
    expect(await waiting()).toEqual(['57']);
    expect(counted).toEqual({ ambiguous: 1 });
  });

  test('stays unmatched while another message is being handed over', async () => {
    const id = await message();
    const other = await message({ state: 'accepted' });
    await sql`
      insert into handover_batches (id, lane, fence, provider, message_ids)
      values (${`bat_${other}`}, 'lane', 1, ${provider}, ${[other]}::text[])
    `.execute(db);
    await told('57');
    expect(await settle()).toEqual([]);
    await sql`update messages set state = 'delivered' where id = ${id}`.execute(db);
    await due();
    expect(await settle()).toEqual([]);
    await sql`update messages set state = 'unknown' where id = ${id}`.execute(db);
    await sql`delete from handover_batches where id = ${`bat_${other}`}`.execute(db);
    await due();
    expect(await settle()).toMatchObject([{ id }]);
  });

  test.each<[string, Row]>([
    ['that has ended', { state: 'delivered', providerId: '12' }],
    ['that was refused', { state: 'rejected' }],
    ['that only waits', { state: 'accepted' }],
    ['from another sender', { from: '54321' }],
    ['by another provider', { provider: 'kannel' }],
    ['of days ago', { updatedAt: '2026-01-01T00:00:00.000Z' }],
  ])('is not kept from its message by one %s', async (_, other) => {
    const id = await message();
    await message(other);
    await told('57');
    expect(await settle()).toMatchObject([{ id }]);
  });

  test.each<[string, Row]>([
    ['that was sent, whose id is known', { state: 'sent', providerId: '12' }],
    ['that is in doubt, whose id is known', { providerId: '12' }],
    ['that has ended', { state: 'delivered', providerId: '12' }],
    ['of another sender', { from: '54321' }],
    ['by another provider', { provider: 'kannel' }],
    ['of days ago', { updatedAt: '2026-01-01T00:00:00.000Z' }],
    ['that came after it', { createdAt: new Date(Date.now() + 600_000).toISOString() }],
  ])('is never given to a message %s', async (_, row) => {
    await message(row);
    await told('57');
    expect(await settle()).toEqual([]);
    expect(await waiting()).toEqual(['57']);
    expect(counted).toEqual({});
  });

  test('finds its message among several by the reference that came back, and no other', async () => {
    const [one, two] = [await message(), await message()];
    await told('57', { reference: messageReference(two) });
    expect(await settle()).toMatchObject([{ id: two, data: { matchedBy: 'reference' } }]);
    const strange = [1, 2, 3].find((n) => ![one, two].map(messageReference).includes(n));
    await told('58', { reference: strange });
    expect(await settle()).toEqual([]);
    expect(await waiting()).toEqual(['58']);
  });

  test('stays unmatched where a recipient has too many messages under way to be sure', async () => {
    const id = await message();
    const others = await Promise.all(
      Array.from({ length: 19 }, () => message({ from: '54321', state: 'sent', providerId: '12' })),
    );
    await told('57');
    expect(await settle()).toEqual([]);
    await sql`update messages set state = 'delivered' where id = ${others[0]}`.execute(db);
    await due();
    expect(await settle()).toMatchObject([{ id }]);
  });

  test('stays unmatched when there are more such receipts than parts', async () => {
    await message();
    await told('57');
    await told('58', { type: 'undelivered' });
    expect(await settle()).toEqual([]);
    expect(counted).toEqual({ ambiguous: 2 });
  });

  test('repeated by the centre counts as one', async () => {
    const id = await message();
    await told('57');
    await told('57');
    expect(await settle()).toMatchObject([{ id, type: 'delivered' }]);
    expect(await waiting()).toEqual([]);
  });

  describe('of a long message', () => {
    test('completes the message with the others, whichever process stored their ids', async () => {
      const id = await message({ segments: 3 });
      await parts.record([{ id, parts: 3, partIds: ['a'] }]);
      await parts.resolve([{ candidates: ['a'], known: undefined, receipt: { type: 'delivered' } }]);
      await told('b');
      expect(await settle()).toEqual([]);
      expect(await waiting()).toEqual([]);
      await told('c');
      expect(await settle()).toMatchObject([{ id, type: 'delivered' }]);
    });

    test('ends it by its first part that does, and the others are not taken for another message', async () => {
      const id = await message({ segments: 2 });
      await told('a', { type: 'undelivered' });
      expect(await settle()).toMatchObject([{ id, type: 'undelivered' }]);
      await sql`update messages set state = 'undelivered' where id = ${id}`.execute(db);
      const other = await message();
      await told('b');
      expect(await settle()).toEqual([]);
      expect(counted).toMatchObject({ ambiguous: 1 });
      await sql`delete from messages where id = ${other}`.execute(db);
      await due();
      expect(await settle()).toMatchObject([{ id, type: 'undelivered' }]);
      expect(await waiting()).toEqual([]);
    });

    test('is the only one where the centre cuts texts itself', async () => {
      const id = await message({ segments: 3 });
      await told('a');
      expect(await settle(true)).toMatchObject([{ id, type: 'delivered' }]);
    });
  });

  test('is not put off by a look at another about the same person', async () => {
    const about = { to, from: '54321' };
    await keepOrphans(db, [{ provider, receipt: { providerId: '58', type: 'delivered', about } }]);
    const lookAt = async () =>
      (
        await db
          .selectFrom('orphan_receipts')
          .select('look_at')
          .where('provider_id', '=', '58')
          .where('provider', '=', provider)
          .executeTakeFirstOrThrow()
      ).look_at;
    const before = await lookAt();
    await keepOrphans(db, [
      { provider, receipt: { providerId: '57', type: 'delivered', about: { to, from: '12345' } } },
    ]);
    await sql`update orphan_receipts set look_at = now() where provider_id = '57'`.execute(db);
    await settle();
    expect(await lookAt()).toEqual(before);
  });

  test('is looked at more and more seldom', async () => {
    await message({ state: 'sent', providerId: '12' });
    await told('57');
    await sql`update orphan_receipts set received_at = now() - interval '10 minutes'`.execute(db);
    await settle();
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from look_at - now())::float as seconds from orphan_receipts where provider = ${provider}
    `.execute(db);
    expect(rows[0]?.seconds).toBeGreaterThan(540);
    expect(rows[0]?.seconds).toBeLessThan(660);
  });
});
