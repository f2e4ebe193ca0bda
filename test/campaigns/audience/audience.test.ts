/** Proves that freezing takes each contact and each address once, and never changes afterwards. */

import { type Kysely, sql } from 'kysely';
import { freezeAudience } from '../../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { LIMITS } from '../../../src/domain/limits';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('freezing an audience', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  async function freeze(
    planted: Awaited<ReturnType<typeof plantRun>>,
    placeholders: string[],
    campaignParams = {},
  ) {
    const { runId, workspaceId, channel, listId } = planted;
    return freezeAudience(db, {
      runId,
      workspaceId,
      channel,
      contactListIds: [listId],
      placeholders,
      campaignParams,
    });
  }

  const recipientsOf = (runId: string) =>
    db.selectFrom('recipients').selectAll().where('run_id', '=', runId).orderBy('seq').execute();

  test('takes each contact and each address once and counts who is left out, by reason', async () => {
    const planted = await plantRun(db, { contacts: 6 });
    const id = (i: number) => `${planted.listId}-${String(i).padStart(7, '0')}`;
    await sql`update contacts set phone = null where id = ${id(1)}`.execute(db);
    await sql`update contacts set phone = 'nonsense' where id = ${id(2)}`.execute(db);
    await sql`update contacts set phone = '+12022000003' where id = ${id(4)}`.execute(db);
    await sql`update contacts set name = null where id = ${id(5)}`.execute(db);
    expect(await freeze(planted, ['NAME'])).toBe(1);
    const recipients = await recipientsOf(planted.runId);
    expect(recipients.map((recipient) => [recipient.seq, recipient.contact_id])).toEqual([
      [0, id(3)],
      [1, id(6)],
    ]);
    const run = await db
      .selectFrom('runs')
      .select('skipped')
      .where('id', '=', planted.runId)
      .executeTakeFirstOrThrow();
    expect(run.skipped.sms).toEqual({
      no_address: 1,
      invalid_address: 1,
      duplicate_address: 1,
      missing_params: 1,
      suppressed: 0,
      excluded: 0,
    });
  });

  test('takes telephone numbers of 7 to 15 digits after a plus, of which the first is not 0, and no other text', async () => {
    const good = ['+1234567', '+123456789012345', '+99999999', '+10000000'];
    const bad = [
      '+123456',
      '+1234567890123456',
      '+01234567',
      '12345678',
      '++1234567',
      '+1234567+',
      '+12345 67',
      '+١٢٣٤٥٦٧٨',
    ];
    const more = ['+1234567\n', ' +1234567', '+12345a7', '-12345678', '+:1234567', '+', ''];
    const phones = [...good, ...bad, ...more];
    const planted = await plantRun(db, { contacts: phones.length });
    const id = (i: number) => `${planted.listId}-${String(i).padStart(7, '0')}`;
    await sql`update contacts c set phone = g.phone
      from unnest(${phones.map((_, i) => id(i + 1))}::text[], ${phones}::text[]) as g(id, phone)
      where c.id = g.id`.execute(db);
    await freeze(planted, []);
    expect((await recipientsOf(planted.runId)).map(({ address }) => address)).toEqual(good);
  });

  test('freezes the values of the placeholders, the contact before the campaign', async () => {
    const planted = await plantRun(db, { contacts: 2 });
    await sql`update contacts set params = '{"CITY": "Bergen", "OTHER": 1}' where id = ${`${planted.listId}-0000001`}`.execute(
      db,
    );
    await freeze(planted, ['NAME', 'CITY'], { CITY: 'your city', NAME: 'friend' });
    const recipients = await recipientsOf(planted.runId);
    expect(recipients.map(({ params }) => params)).toEqual([
      { NAME: 'Name 1', CITY: 'Bergen' },
      { NAME: 'Name 2', CITY: 'your city' },
    ]);
  });

  test('changes nothing when it runs again, also when the list has changed since', async () => {
    const planted = await plantRun(db, { contacts: 3 });
    await freeze(planted, []);
    const before = await recipientsOf(planted.runId);
    await sql`delete from contact_list_members where list_id = ${planted.listId}`.execute(db);
    expect(await freeze(planted, [])).toBe(1);
    expect(await recipientsOf(planted.runId)).toEqual(before);
  });

  test('gives an empty audience one empty shard', async () => {
    const planted = await plantRun(db, { contacts: 0 });
    expect(await freeze(planted, ['NAME'])).toBe(1);
    expect((await readCounts(db, planted.runId)).sms).toMatchObject({ total: 0, pending: 0 });
  });

  test('cuts a large audience into shards that cover it without gap or overlap', async () => {
    const contacts = 3 * LIMITS.firstShardContacts;
    const planted = await plantRun(db, { contacts });
    expect(await freeze(planted, [])).toBe(2);
    const shards = await db
      .selectFrom('shards')
      .selectAll()
      .where('run_id', '=', planted.runId)
      .orderBy('shard')
      .execute();
    const middle = LIMITS.firstShardContacts;
    expect(shards.map((shard) => [shard.from_seq, shard.to_seq])).toEqual([
      [0, middle],
      [middle, contacts],
    ]);
    const { rows } = await sql<{ shard: number; first: number; last: number }>`
      select shard, min(seq) as first, max(seq) as last from recipients where run_id = ${planted.runId}
      group by shard order by shard`.execute(db);
    expect(rows).toEqual([
      { shard: 0, first: 0, last: middle - 1 },
      { shard: 1, first: middle, last: contacts - 1 },
    ]);
  });
});
