/** Proves that an upgrade reads messages by narrow indexes, and drops the earlier ones when no process needs them. */

import { sql } from 'kysely';
import { openStorage, type Storage } from '../../src/storage/storage';
import { openEarlier } from '../support/earlier-schema';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

const EARLIER = {
  carrier_ids_in_order: 'carrier_ids (provider, provider_id)',
  messages_by_address: 'messages (to_address, id)',
  messages_by_age: 'messages (workspace_id, id)',
  messages_by_campaign: 'messages (workspace_id, campaign, id) where campaign is not null',
  messages_ended: 'messages (workspace_id, ended, id) where ended is not null',
};
const NARROW = [
  'carrier_ids_by_hash',
  'messages_latest',
  'messages_latest_ended',
  'messages_latest_of_campaign',
  'messages_latest_to',
];

describeWithDatabase('an upgrade to narrow indexes', (database) => {
  let storage: Storage;
  afterEach(() => storage.close());
  const run = (text: string) => sql.raw(text).execute(storage.tables());

  const indexesOf = async (names: readonly string[]) => {
    const { rows } = await sql<{ name: string }>`
      select indexname as name from pg_indexes where indexname = any(${names}::text[])
      order by 1`.execute(storage.tables());
    return rows.map(({ name }) => name);
  };

  test('a new database has the new indexes alone', async () => {
    storage = await openStorage(await database.place({ migrated: true }));
    expect([await indexesOf(Object.keys(EARLIER)), await indexesOf(NARROW)]).toEqual([[], NARROW]);
  });

  test('keeps the earlier ones for as long as a process of the version before is there', async () => {
    const place = await database.place();
    storage = await openEarlier(place, '0121');
    for (const [name, columns] of Object.entries(EARLIER)) {
      await run(`create index if not exists ${name} on ${columns}`);
    }
    await run(`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, payload_hash, state, lane,
        flow, accepted_seq) values ('m', 'w', 'u', 'sms', 'a', 'b', '{}', 'marketing', '', 'sent', 'l', 7, 1)`);
    await run(`insert into processes (id, host, pid, roles, version, started_at, seen_at, newest_migration)
      values ('proc', 'host', 1, '{http}', '1', now(), now(), '0120-due-groups-filled')`);
    await storage.close();

    storage = await openStorage({ ...place, retiredLookMs: 50 });
    await until('the new indexes stand', async () => (await indexesOf(NARROW)).length === NARROW.length);
    expect(await indexesOf(Object.keys(EARLIER))).toEqual(Object.keys(EARLIER));
    await run("update processes set seen_at = now() - interval '2 minutes'");
    await until(
      'the earlier ones are gone',
      async () => (await indexesOf(Object.keys(EARLIER))).length === 0,
    );
    expect(await indexesOf(NARROW)).toEqual(NARROW);
  });
});
