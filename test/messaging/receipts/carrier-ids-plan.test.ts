/** Proves that carriers' ids are looked up one by one, in a table that was analyzed and in one that was not. */

import { type Kysely, sql } from 'kysely';
import { refusedSenders } from '../../../src/messaging/carriers/closed-senders';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { findTargets, ripeOrphans } from '../../../src/messaging/receipts/receipt-rows';
import { createSmsParts } from '../../../src/messaging/receipts/sms-parts';
import { openStorage, type Storage } from '../../../src/storage/storage';
import { type ExplainingDatabase, openExplaining, rowsRead } from '../../support/explained';
import { describeWithDatabase } from '../../support/storage';

const MESSAGES = 100_000;
const ASKED = 50;

describeWithDatabase('a carrier’s id, among 100,000', (database) => {
  let storage: Storage;
  let at: ExplainingDatabase;
  const db = () => storage.tables<MessagingTables>();
  const explained = () => at.db as unknown as Kysely<MessagingTables>;

  beforeAll(async () => {
    const place = await database.place();
    storage = await openStorage(place);
    at = await openExplaining(place);
    await sql`alter table carrier_ids set (autovacuum_enabled = false)`.execute(db());
    await sql`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, payload_hash, state, lane,
        accepted_seq, provider, provider_id)
      select 'm' || i, 'w', 'u' || i, 'sms', 'a', 'b', '{}', 'marketing', 'h', 'sent', 'l', i, 'http', 'c' || i
      from generate_series(1, ${MESSAGES}::int) i`.execute(db());
    await sql`
      insert into orphan_receipts (id, provider, provider_id, receipt)
      select 'r' || i, 'http', 'c' || i, '{}' from generate_series(1, 9) i`.execute(db());
  }, 60_000);
  afterAll(async () => {
    await at.close();
    await storage.close();
  });

  const readOf = (table: string) => at.take().reduce((sum, { plan }) => sum + rowsRead(plan, table), 0);
  const ids = Array.from({ length: ASKED }, (_, i) => `c${i * 7 + 1}`);

  describe.each([false, true])('analyzed: %s', (isAnalyzed) => {
    beforeAll(async () => {
      if (isAnalyzed) await sql`analyze carrier_ids`.execute(db());
      at.take();
    });

    test('is found for receipts', async () => {
      const receipts = ids.map((providerId) => ({
        provider: 'http',
        receipt: { providerId, type: 'delivered' as const },
      }));
      const { byProviderId } = await findTargets(explained(), receipts);
      expect([...byProviderId.values()].map(({ id }) => id).sort()).toEqual(
        ids.map((id) => id.replace('c', 'm')).sort(),
      );
      expect(readOf('carrier_ids')).toBe(ASKED);
    });

    test('is found for receipts that came early', async () => {
      expect(await ripeOrphans(explained(), 100)).toHaveLength(9);
      expect(readOf('carrier_ids')).toBe(9);
    });

    test('is found for parts of long messages', async () => {
      const parts = createSmsParts({ db: explained(), provider: 'http' });
      const receipt = { type: 'delivered' as const };
      await parts.resolve(ids.map((id) => ({ candidates: [id], known: undefined, receipt })));
      expect(readOf('carrier_ids')).toBe(ASKED);
    });

    test('is found for refused senders', async () => {
      const refused = await refusedSenders(
        explained(),
        'http',
        ids.map((providerId) => ({ id: undefined, providerId, code: 'x' })),
      );
      expect(refused).toHaveLength(ASKED);
      expect(readOf('carrier_ids')).toBe(ASKED);
    });
  });

  test('is forgotten with its messages', async () => {
    await sql`delete from messages where accepted_seq <= 1000`.execute(db());
    const { rows } = await sql<{ left: number }>`select count(*)::int as left from carrier_ids`.execute(db());
    expect(rows[0]?.left).toBe(MESSAGES - 1_000);
  });
});
