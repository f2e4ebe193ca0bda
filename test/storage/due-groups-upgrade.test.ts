/** Proves that what waits, and what carriers call messages, is found after an upgrade, also while the version before runs. */

import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { Client } from 'pg';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { readDue } from '../../src/messaging/outbox/queue/due-messages';
import { findTargets } from '../../src/messaging/receipts/receipt-rows';
import { openStorage, type Storage } from '../../src/storage/storage';
import { openEarlier } from '../support/earlier-schema';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

const OLD_INDEXES = ['messages_due', 'messages_expiring', 'messages_by_provider_id'];
const CREATED_BY_THE_VERSION_BEFORE = [
  'create index messages_due on messages (lane, flow, due_at, accepted_seq) where due_at is not null',
  'create index messages_expiring on messages (lane, expires_at) where due_at is not null and expires_at is not null',
];

describeWithDatabase('an upgrade to groups of due messages', (database) => {
  let storage: Storage;
  const run = (text: string) => sql.raw(text).execute(storage.tables());

  async function fromTheVersionBefore(): Promise<{ databaseUrl: string }> {
    const place = await database.place();
    storage = await openEarlier(place, '0119');
    await run('drop index if exists messages_due, messages_due_without_flow, messages_expiring');
    for (const text of CREATED_BY_THE_VERSION_BEFORE) await run(text);
    await run(`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, payload_hash, state,
        provider, provider_id, due_at, expires_at, lane, flow, accepted_seq)
      select 'm' || n, 'w', 'u' || n, 'sms', 'a', 'b', '{}', 'marketing', '', case when n <= 6 then 'accepted' else 'sent' end,
        case when n > 6 then 'http' end, case when n > 6 then 'c' || n end,
        case when n <= 6 then '2026-01-01'::timestamptz + make_interval(secs => n % 2) end, null, 'lane', 7, n
      from generate_series(1, 9) n`);
    await storage.close();
    return place;
  }

  const due = async () => {
    const rows = await readDue(storage.tables<MessagingTables>(), {
      partition: 'lane',
      flows: [{ flow: 7, from: '-infinity', countMax: 100 }],
      except: [],
      now: '2026-02-01T00:00:00Z',
      bytesMax: 1_000_000,
    });
    return rows.map(({ message }) => message.id);
  };

  const found = async (...providerIds: string[]) => {
    const receipts = providerIds.map((providerId) => ({
      provider: 'http',
      receipt: { providerId, type: 'delivered' as const },
    }));
    const { byProviderId } = await findTargets(storage.tables<MessagingTables>(), receipts);
    return [...byProviderId.values()].map(({ id }) => id).sort();
  };

  const indexes = async () => {
    const { rows } = await sql<{ name: string }>`
      select indexname as name from pg_indexes where tablename = 'messages'`.execute(storage.tables());
    const names = rows.map(({ name }) => name);
    return OLD_INDEXES.filter((name) => names.includes(name));
  };

  test('finds what waits from before, and drops the indexes that it needs no more', async () => {
    storage = await openStorage(await fromTheVersionBefore());
    expect(await due()).toEqual(['m2', 'm4', 'm6', 'm1', 'm3', 'm5']);
    expect(await found('c7', 'c8', 'c9', 'c1')).toEqual(['m7', 'm8', 'm9']);
    expect(await indexes()).toEqual([]);
    await storage.close();
  });

  test('keeps them for as long as a process of the version before is there, and finds what that writes', async () => {
    const place = await fromTheVersionBefore();
    const client = new Client({ connectionString: place.databaseUrl });
    await client.connect();
    await client.query(`insert into processes (id, host, pid, roles, version, started_at, seen_at)
      values ('proc', 'host', 1, '{http}', '1', now(), now())`);
    storage = await openStorage({ ...place, retiredLookMs: 50 });
    await delay(200);
    expect(await indexes()).toEqual(OLD_INDEXES);
    await client.query(
      "update messages set state = 'sent', due_at = null, provider = 'http', provider_id = 'c2' where id = 'm2'",
    );
    await client.query("update messages set due_at = due_at + interval '1 day' where id = 'm4'");
    expect(await due()).toEqual(['m6', 'm1', 'm3', 'm5', 'm4']);
    expect(await found('c2', 'c7')).toEqual(['m2', 'm7']);
    await client.query("update processes set seen_at = now() - interval '2 minutes'");
    await client.end();
    await until('the indexes are gone', async () => (await indexes()).length === 0);
    expect(await due()).toEqual(['m6', 'm1', 'm3', 'm5', 'm4']);
    await storage.close();
  });

  test('looks ids up where they were until they are copied', async () => {
    const place = await fromTheVersionBefore();
    storage = await openStorage(place);
    // As a process leaves it that was killed in the middle of the copy.
    await run("delete from gradual_updates where name = 'messages.carrier_ids'");
    await run(`create or replace view known_carrier_ids as select provider, provider_id, message_id from carrier_ids
      union all select provider, provider_id, id from messages where provider_id is not null`);
    await run("delete from carrier_ids where message_id in ('m8', 'm9')");
    expect(await found('c7', 'c8', 'c9')).toEqual(['m7', 'm8', 'm9']);
    await storage.close();
    storage = await openStorage(place);
    const { rows } = await run('select message_id from carrier_ids order by 1');
    expect(rows).toEqual([{ message_id: 'm7' }, { message_id: 'm8' }, { message_id: 'm9' }]);
    await storage.close();
  });
});
