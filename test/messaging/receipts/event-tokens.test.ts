import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { isFirstUse } from '../../../src/messaging/receipts/event-tokens';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('tokens of events', (database) => {
  let db: Kysely<MessagingTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });
  const use = (token: string, body: string, account = 'acc_1') =>
    isFirstUse(db, account, token, Buffer.from(body));

  test('a token counts for one body, at each account by itself', async () => {
    expect(await use('t1', 'a')).toBe(true);
    expect(await use('t1', 'a')).toBe(true);
    expect(await use('t1', 'b')).toBe(false);
    expect(await use('t1', 'b', 'acc_2')).toBe(true);
  });

  test('of two bodies at once one is the first', async () => {
    const both = await Promise.all([use('t2', 'a'), use('t2', 'b')]);
    expect(both.filter(Boolean)).toHaveLength(1);
  });

  test('a token is forgotten after a day', async () => {
    await use('t3', 'a');
    await sql`update event_tokens set at = now() - interval '2 days'`.execute(db);
    await use('t4', 'a');
    const { rows } = await sql<{ n: number }>`select count(*)::int as n from event_tokens`.execute(db);
    expect(rows[0]?.n).toBe(1);
  });
});
