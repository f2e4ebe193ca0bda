/** Proves that an inbound SMS finds its workspace by an index. */

import { type Kysely, sql } from 'kysely';
import { findCorrespondents } from '../../../src/messaging/inbound/inbound-rows';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { openStorage, type Storage } from '../../../src/storage/storage';
import { type ExplainingDatabase, nodesOf, openExplaining, rowsRead } from '../../support/explained';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('who is answered, among 100,000 messages', (database) => {
  let storage: Storage;
  let at: ExplainingDatabase;
  beforeAll(async () => {
    const place = await database.place();
    storage = await openStorage(place);
    at = await openExplaining(place);
  });
  afterAll(async () => {
    await at.close();
    await storage.close();
  });

  test('is found by the subscriber’s own messages, before and after the table is analyzed', async () => {
    const db = storage.tables<MessagingTables>();
    await sql`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class,
        payload_hash, state, lane, accepted_seq)
      select 'msg_' || lpad(i::text, 8, '0'), 'ws_' || i % 3, 'u' || i, 'sms', '+1' || (2020000000 + i % 20000), '12345', '{}',
        'marketing', 'h', 'sent', 'l', i
      from generate_series(1, 100000) i
    `.execute(db);
    for (const analyzed of [false, true]) {
      if (analyzed) await sql`analyze messages`.execute(db);
      at.take();
      const explained = at.db as unknown as Kysely<MessagingTables>;
      const found = await findCorrespondents(explained, {
        ...{ provider: 'twilio:acc_1', subscriber: '+12020000007', senders: ['12345', '+12345'] },
      });
      expect(found.map(({ workspaceId, target }) => [workspaceId, target?.id])).toEqual([
        ['ws_0', 'msg_00080007'],
        ['ws_1', 'msg_00060007'],
        ['ws_2', 'msg_00040007'],
      ]);
      const [statement] = at.take();
      if (!statement) throw new Error('nothing was asked');
      expect(rowsRead(statement.plan, 'messages')).toBeLessThanOrEqual(10);
      for (const plan of [statement.plan, statement.generic]) {
        const scans = [...nodesOf(plan)].filter((node) => node['Relation Name'] === 'messages');
        expect(scans.map((node) => node['Node Type'])).not.toContain('Seq Scan');
      }
    }
  });
});
