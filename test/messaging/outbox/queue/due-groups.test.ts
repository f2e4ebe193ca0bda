/** Proves that what is due is found in order among many messages, and that a hand-over changes a message in place. */

import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../../../src/domain/limits';
import { sweepDueGroups } from '../../../../src/messaging/model/due-groups';
import type { MessagingTables } from '../../../../src/messaging/model/tables';
import {
  bringRefusedForward,
  firstOfFlows,
  nextDueMs,
  readDue,
} from '../../../../src/messaging/outbox/queue/due-messages';
import { createOutboxCount } from '../../../../src/messaging/outbox/queue/outbox-count';
import { findTargets, foreignKey } from '../../../../src/messaging/receipts/receipt-rows';
import { openStorage, type Storage } from '../../../../src/storage/storage';
import { type ExplainingDatabase, nodesOf, openExplaining, rowsRead } from '../../../support/explained';
import { describeWithDatabase } from '../../../support/storage';

const LANE = 'lane';
const START = '2026-01-01T00:00:00Z';

describeWithDatabase('groups of due messages', (database) => {
  let storage: Storage;
  let at: ExplainingDatabase;
  let db: Kysely<MessagingTables>;
  let explained: Kysely<MessagingTables>;
  beforeEach(async () => {
    const place = await database.place({ migrated: true });
    storage = await openStorage(place);
    db = storage.tables<MessagingTables>();
    at = await openExplaining(place);
    explained = at.db as unknown as Kysely<MessagingTables>;
  });
  afterEach(async () => {
    await at.close();
    await storage.close();
  });

  /** One statement accepts the messages of these numbers, all due `seconds` after the start, in flows by turns. */
  const accept = (from: number, to: number, options: { seconds?: number; flows?: number } = {}) =>
    sql`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, payload_hash, state,
        due_at, lane, flow, accepted_seq)
      select 'msg_' || lpad(n::text, 8, '0'), 'ws', 'u' || n, 'sms', '+1202' || n, '12345', '{}', 'marketing', 'h', 'accepted',
        ${START}::timestamptz + make_interval(secs => ${options.seconds ?? 0}), 'lane', 1 + n % ${options.flows ?? 1}::int, n
      from generate_series(${from}::int, ${to}::int) n`.execute(db);

  const handOver = (from: number, to: number) =>
    sql`
      update messages set state = 'sent', due_at = null, provider = 'http', provider_id = 'c' || accepted_seq
      where accepted_seq between ${from} and ${to}`.execute(db);

  const due = async (query: Partial<Parameters<typeof readDue>[1]> = {}, of = db) =>
    (
      await readDue(of, {
        partition: 'lane',
        flows: [{ flow: 1, from: '-infinity', countMax: 500 }],
        except: [],
        now: '2026-01-02T00:00:00Z',
        bytesMax: 10_000_000,
        ...query,
      })
    ).map(({ message }) => Number(message.id.slice(4)));

  const groups = async () =>
    (
      await sql<{ flow: number; count: number; first: number }>`
        select flow, cardinality(message_ids) as count, first_seq as first from due_groups order by flow, due_at, first_seq`.execute(
        db,
      )
    ).rows.map(({ flow, count, first }) => [flow, count, Number(first)]);

  test('hold what was accepted together, by flow, and are read in the order of time and acceptance', async () => {
    await accept(11, 20, { flows: 2 });
    await accept(1, 10, { flows: 2 });
    await accept(21, 24, { seconds: -60, flows: 2 });
    expect(await groups()).toEqual([
      [1, 2, 22],
      [1, 5, 2],
      [1, 5, 12],
      [2, 2, 21],
      [2, 5, 1],
      [2, 5, 11],
    ]);
    expect(await due()).toEqual([22, 24, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
    expect(await due({ except: ['msg_00000004'], flows: [{ flow: 1, from: START, countMax: 3 }] })).toEqual([
      2, 6, 8,
    ]);
    expect((await firstOfFlows(db, 'lane')).map(({ message }) => message.id)).toEqual([
      'msg_00000022',
      'msg_00000021',
    ]);
  });

  test('are swept when nothing in them waits, and hold less when half has left', async () => {
    await accept(1, 10);
    await accept(11, 20, { seconds: 1 });
    await accept(21, 30, { seconds: 2 });
    await handOver(1, 16);
    await handOver(30, 30);
    expect(await due()).toEqual([17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
    await sweepDueGroups(db, LANE);
    expect(await groups()).toEqual([
      [1, 4, 17],
      [1, 10, 21],
    ]);
    expect(await due()).toHaveLength(13);
    await handOver(17, 30);
    await sweepDueGroups(db, LANE);
    expect(await groups()).toEqual([]);
  });

  test('are swept page by page, however many there are and whatever still waits among them', async () => {
    const count = 2 * LIMITS.dueGroupsSwept + 10;
    // All at one time, so that the place within it decides.
    for (let i = 1; i <= count; i++) await accept(i * 10 + 1, i * 10 + 2);
    await handOver(31, 32);
    await handOver(count * 10 + 1, count * 10 + 2);
    await handOver(1_011, 1_011);
    await sweepDueGroups(db, LANE);
    expect(await groups()).toHaveLength(count - 2);
    expect((await groups()).filter(([, left]) => left === 1)).toEqual([[1, 1, 1_012]]);
    await handOver(1, count * 10 + 2);
    await sweepDueGroups(db, LANE);
    expect(await groups()).toEqual([]);
  });

  test('are made anew for a message that is put off, also by a process that knows nothing of them', async () => {
    await accept(1, 3);
    await sql`update messages set due_at = ${START}::timestamptz + interval '1 hour' where accepted_seq = 2`.execute(
      db,
    );
    expect(await due()).toEqual([1, 3, 2]);
    const next = await nextDueMs(db, { partition: 'lane', flows: [1], now: START });
    expect(next.get(1)).toBe(Date.parse(START) + 3_600_000);
    await sql`
      update messages set due_at = now() + interval '1 minute', code = 'provider_account' where accepted_seq = 2`.execute(
      db,
    );
    expect(await bringRefusedForward(db, ['lane'])).toBe(true);
    // It is due at a moment of the database, which has microseconds.
    expect(await due({ now: new Date(Date.now() + 1).toISOString() })).toEqual([1, 3, 2]);
    await sweepDueGroups(db, LANE);
    expect(await groups()).toEqual([
      [1, 3, 1],
      [1, 1, 2],
      // It was put off, and brought forward; at its time this one is swept too.
      [1, 1, 2],
    ]);
  });

  test('a carrier’s id is found as long as its message is kept', async () => {
    await accept(1, 3);
    await handOver(1, 3);
    const target = async (providerId: string) => {
      const receipt = { providerId, type: 'delivered' as const };
      const asked = { provider: 'http', receipt };
      const { byProviderId } = await findTargets(db, [asked]);
      return byProviderId.get(foreignKey(asked))?.id;
    };
    expect(await target('c2')).toBe('msg_00000002');
    await sql`update messages set provider_id = 'd1' where accepted_seq = 1`.execute(db);
    expect([await target('c1'), await target('d1')]).toEqual([undefined, 'msg_00000001']);
    await sql`delete from messages where accepted_seq = 2`.execute(db);
    expect(await target('c2')).toBeUndefined();
    const { rows } = await sql`select from carrier_ids`.execute(db);
    expect(rows).toHaveLength(2);
  });

  test('no index of messages sees what a hand-over and a receipt change', async () => {
    const { rows } = await sql<{ definition: string }>`
      select pg_get_indexdef(indexrelid) as definition from pg_index where indrelid = 'messages'::regclass`.execute(
      db,
    );
    expect(rows.length).toBeGreaterThan(4);
    for (const { definition } of rows)
      expect(definition).not.toMatch(
        /\b(state|code|provider|provider_id|attempt|due_at|updated_at|history)\b/,
      );
  });

  test('among 100,000 messages, only those that are asked for are read', async () => {
    for (let i = 0; i < 100; i++) await accept(i * 1_000 + 1, i * 1_000 + 1_000, { seconds: i });
    await handOver(1, 80_000);
    for (const analyzed of [false, true]) {
      if (analyzed) await sql`analyze messages, due_groups, carrier_ids`.execute(db);
      else await sweepDueGroups(db, LANE);
      at.take();
      expect(await due({}, explained)).toHaveLength(500);
      await nextDueMs(explained, { partition: 'lane', flows: [1], now: START });
      expect(await firstOfFlows(explained, 'lane')).toHaveLength(1);
      const receipt = { providerId: 'c777', type: 'delivered' as const };
      expect((await findTargets(explained, [{ provider: 'http', receipt }])).byProviderId.size).toBe(1);
      for (const { plan, generic, text } of at.take()) {
        for (const one of [plan, generic]) {
          const scans = [...nodesOf(one)].filter((node) => node['Node Type'] === 'Seq Scan');
          const tables = scans.map((node) => node['Relation Name']);
          expect({ text, tables: tables.filter((table) => table === 'messages') }).toEqual({
            text,
            tables: [],
          });
        }
        // A group is read whole.
        expect(rowsRead(plan, 'messages')).toBeLessThanOrEqual(1_010);
      }
    }
    at.take();
    const count = createOutboxCount(explained);
    await count.start();
    count.stop();
    await sql`insert into dispatch_lanes (id, owner, fence, lease_until) values ('lane', 'p', 1, now())`.execute(
      db,
    );
    at.take();
    await count.start();
    count.stop();
    expect(count.depth('ws').marketing.undelivered).toBe(20_000);
    const [counted] = at.take();
    if (!counted) throw new Error('nothing was asked');
    expect(rowsRead(counted.plan, 'messages')).toBeLessThanOrEqual(20_000);
  }, 60_000);
});
