/** Proves that an audience frozen in pieces is the same as one frozen at once, even after crashes. */

import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { suppression } from '../../../src/app/between-halves';
import { changeCampaign } from '../../../src/campaigns/actions/campaign-actions';
import {
  type AudienceInput,
  freezeAudience,
  freezeShard,
  shardEnds,
} from '../../../src/campaigns/audience/audience';
import { audienceOf, rankedContacts } from '../../../src/campaigns/audience/audience-sql';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { closeRun, frozenShards } from '../../../src/campaigns/runs/run-end';
import type { Channel } from '../../../src/domain/channel';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { upsertSuppressions } from '../../../src/messaging/suppression/suppression-rows';
import { newId } from '../../../src/storage/new-id';
import { blocks, contacts } from '../../http/dry-run-audiences';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

const FROM = { email: 'fan@example.com', sms: '12345', voice: '+12025550100' };

describeWithDatabase('an audience that is frozen in pieces', (database) => {
  let db: Kysely<CampaignTables>;
  let messaging: Kysely<MessagingTables>;
  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<CampaignTables>();
    messaging = storage.tables<MessagingTables>();
  });

  interface Planted {
    workspaceId: string;
    lists: string[];
  }

  /** Contacts in lists that overlap; their ids are in no order. */
  async function plant(rows: readonly object[]): Promise<Planted> {
    const workspaceId = newId('wsp');
    const lists = [newId('lst'), newId('lst'), newId('lst')];
    const all = rows.map((row, i) => ({ ...row, id: `${(i * 7919) % 10_007}-${newId('cnt')}`, i }));
    await sql`
      with given as (
        select * from jsonb_to_recordset(${JSON.stringify(all)}::jsonb)
          as g(id text, email text, phone text, name text, params jsonb, i int)
      ), made as (
        insert into contacts (id, workspace_id, identity, name, email, phone, params)
        select id, ${workspaceId}, 'x:' || id, name, email, phone, coalesce(params, '{}') from given
      )
      insert into contact_list_members (list_id, contact_id)
      select l.id, given.id from given, unnest(${lists}::text[]) with ordinality as l(id, n)
      where given.i % 3 = l.n - 1 or given.i % 5 = l.n`.execute(db);
    return { workspaceId, lists };
  }

  async function inputFor(
    { workspaceId, lists }: Planted,
    channel: Channel,
    exclude?: string,
  ): Promise<AudienceInput & { campaignId: string }> {
    const { runId, campaignId } = await plantRun(db, { contacts: 0, workspaceId, channel });
    const source = {
      workspaceId,
      settings: { [channel]: { from: FROM[channel], templateId: 't', version: 1 } },
      contactListIds: lists,
      options: exclude ? { exclude: { campaignIds: [exclude] } } : {},
    };
    return { runId, campaignId, ...audienceOf(source, channel, ['NAME', 'CITY'], suppression) };
  }

  /** What one statement over all of the audience makes of it. */
  async function atOnce(input: AudienceInput) {
    const { rows } = await sql<{ id: string; address: string; params: object; reason: string | null }>`
      with ${rankedContacts(input, undefined)} select id, address, params, reason from ranked order by id`.execute(
      db,
    );
    return {
      recipients: rows
        .filter(({ reason }) => reason === null)
        .map(({ id, address, params }, seq) => ({ seq, contact_id: id, address, params })),
      leftOut: rows
        .filter(({ reason }) => reason !== null)
        .map(({ id, reason }) => ({ contact_id: id, reason })),
    };
  }

  async function frozen({ runId }: Pick<AudienceInput, 'runId'>) {
    const recipients = await db
      .selectFrom('recipients')
      .select(['seq', 'contact_id', 'address', 'params'])
      .where('run_id', '=', runId)
      .orderBy('seq')
      .execute();
    const leftOut = await db
      .selectFrom('skipped_contacts')
      .select(['contact_id', 'reason'])
      .where('run_id', '=', runId)
      .orderBy('contact_id')
      .execute();
    return { recipients, leftOut };
  }

  /** Every recipient is in the shard that has its number, and the run has counted all that were left out. */
  async function expectBooksToBalance({ runId, channel }: AudienceInput): Promise<void> {
    const { recipients, leftOut } = await frozen({ runId });
    const { rows } = await sql<{ strays: number; covered: number }>`
      select (select count(*) from recipients r where r.run_id = ${runId} and not exists (
          select from shards s where s.run_id = r.run_id and s.channel = r.channel and s.shard = r.shard
            and r.seq >= s.from_seq and r.seq < s.to_seq))::int as strays,
        (select coalesce(sum(to_seq - from_seq), 0) from shards where run_id = ${runId})::int as covered`.execute(
      db,
    );
    expect(rows).toEqual([{ strays: 0, covered: recipients.length }]);
    expect((await readCounts(db, runId))[channel]?.total).toBe(recipients.length);
    const { skipped } = await db
      .selectFrom('runs')
      .select('skipped')
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();
    const counted: Record<string, number> = {};
    for (const { reason } of leftOut) counted[reason] = (counted[reason] ?? 0) + 1;
    const told = Object.entries(skipped[channel] ?? {}).filter(([, count]) => count > 0);
    expect(Object.fromEntries(told)).toEqual(counted);
  }

  test('has the same recipients and leaves out the same contacts as one statement, whatever the lists hold', async () => {
    await fc.assert(
      fc.asyncProperty(
        contacts,
        blocks,
        fc.constantFrom<Channel>('email', 'sms'),
        fc.integer({ min: 1, max: 9 }),
        fc.nat(20),
        async (rows, blocked, channel, pieceContacts, reached) => {
          const planted = await plant(rows);
          await upsertSuppressions(messaging, planted.workspaceId, blocked, 'api');
          const earlier = await inputFor({ ...planted, lists: planted.lists.slice(0, 1) }, channel);
          await freezeAudience(db, earlier, { pieceContacts });
          await sql`update shards set next_seq = least(to_seq, ${reached}::int) where run_id = ${earlier.runId}`.execute(
            db,
          );
          for (const exclude of [undefined, earlier.campaignId]) {
            const input = await inputFor(planted, channel, exclude);
            const expected = await atOnce(input);
            await freezeAudience(db, input, { pieceContacts });
            expect(await frozen(input)).toEqual(expected);
            await expectBooksToBalance(input);
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  const crowd = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      name: i % 11 ? `Name ${i}` : null,
      email: i % 7 ? `person${i % 40}@example.com` : null,
      params: { CITY: 'Oslo' },
    }));

  test('goes on at the piece at which an attempt was killed, wherever that was', async () => {
    const planted = await plant(crowd(60));
    const expected = await atOnce(await inputFor(planted, 'email'));
    const killed = new Error('as if killed');
    for (let survived = 0; ; survived++) {
      const input = await inputFor(planted, 'email');
      let pieces = 0;
      const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
        if (pieces++ === survived) throw killed;
        return work();
      };
      const isKilled = await freezeAudience(db, input, { pieceContacts: 7, inTurn }).catch((error) => {
        if (error !== killed) throw error;
        return undefined;
      });
      await freezeAudience(db, input, { pieceContacts: 5 });
      expect(await frozen(input)).toEqual(expected);
      await expectBooksToBalance(input);
      if (isKilled !== undefined) break;
    }
  });

  test('is frozen once, however many attempts are at it at the same time', async () => {
    const planted = await plant(crowd(120));
    const expected = await atOnce(await inputFor(planted, 'email'));
    const input = await inputFor(planted, 'email');
    const attempts = [1, 2, 3, 4].map((pieceContacts) => freezeAudience(db, input, { pieceContacts }));
    for (const ended of await Promise.allSettled(attempts)) {
      // Taken over, or too late for a number that the successor has given.
      if (ended.status === 'rejected') expect(['page_fenced', '23505']).toContain(ended.reason.code);
    }
    await freezeAudience(db, input, { pieceContacts: 9 });
    expect(await frozen(input)).toEqual(expected);
    await expectBooksToBalance(input);
  });

  test('locks nothing that its owner needs, also in the middle of a piece', async () => {
    const planted = await plant(crowd(40));
    const input = await inputFor(planted, 'email');
    const { workspaceId } = planted;
    const { campaignId } = input;
    // Another attempt has written the second piece, and has not committed it: the piece waits for that.
    let release = () => {};
    const other = db.transaction().execute(async (tx) => {
      await sql`insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at)
        values (${input.runId}, 'email', 9, 0, 'x', 'x@example.com', '{}', now())`.execute(tx);
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      throw new Error('given up');
    });
    const freezing = freezeAudience(db, input, { pieceContacts: 10 });
    await until('the piece waits', async () => {
      const { rows } =
        await sql`select 1 from pg_locks where not granted and locktype = 'transactionid'`.execute(db);
      return rows.length > 0;
    });
    for (const action of ['pause', 'resume', 'cancel'] as const) {
      await changeCampaign(db, workspaceId, campaignId, action);
    }
    release();
    await expect(other).rejects.toThrow('given up');
    await freezing;
    expect((await frozen(input)).recipients).toHaveLength((await atOnce(input)).recipients.length);
  });

  test('leaves out contacts that come to a list after it has begun', async () => {
    const planted = await plant(crowd(20));
    const input = await inputFor(planted, 'email');
    const expected = await atOnce(input);
    let asked = 0;
    const late = { id: `9-${newId('cnt')}`, email: 'late@example.com' };
    const wanted = async () => {
      if (asked++ === 1) {
        await sql`insert into contacts (id, workspace_id, identity, name, email, params)
          values (${late.id}, ${planted.workspaceId}, ${late.id}, 'L', ${late.email}, '{"CITY": "Rome"}')`.execute(
          db,
        );
        await sql`insert into contact_list_members (list_id, contact_id) values (${planted.lists[0]}, ${late.id})`.execute(
          db,
        );
      }
      return 'go on' as const;
    };
    await freezeAudience(db, input, { pieceContacts: 4, wanted });
    expect(asked).toBeGreaterThan(3);
    expect(await frozen(input)).toEqual(expected);
  });

  test('a canceled run counts all whom it left out, also after the last shard that it filled', async () => {
    const { runId, listId, workspaceId } = await plantRun(db, { contacts: 6_000 });
    await sql`update contacts set phone = null where workspace_id = ${workspaceId} and id > ${listId} || '-0002500'`.execute(
      db,
    );
    const source = { workspaceId, contactListIds: [listId], options: {} };
    const settings = { sms: { from: FROM.sms, templateId: 't', version: 1 } };
    let asked = 0;
    const wanted = async () => (asked++ < 4 ? ('go on' as const) : ('end' as const));
    const input = { runId, ...audienceOf({ ...source, settings }, 'sms', [], suppression) };
    await freezeAudience(db, input, { wanted, pieceContacts: 1_000 });
    const { skipped } = await db
      .selectFrom('runs')
      .select('skipped')
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from skipped_contacts where run_id = ${runId}`.execute(db);
    expect([rows[0]?.n, skipped.sms?.no_address]).toEqual([1_000, 1_000]);
  });

  test('ends where it is when its run is canceled, with every frozen recipient in a shard', async () => {
    const input = await inputFor(await plant(crowd(60)), 'email');
    let asked = 0;
    const wanted = async () => (asked++ < 3 ? ('go on' as const) : ('end' as const));
    await freezeAudience(db, input, { pieceContacts: 5, wanted });
    const { recipients } = await frozen(input);
    expect(recipients.length).toBeGreaterThan(5);
    expect(recipients.length).toBeLessThan(16);
    await expectBooksToBalance(input);
    expect(await frozenShards(db, input.runId)).toEqual([{ channel: 'email', shard: 0 }]);
    // And has one shard at least.
    const none = await inputFor(await plant(crowd(6)), 'email');
    await freezeAudience(db, none, { wanted: async () => 'end' });
    expect(await frozenShards(db, none.runId)).toEqual([{ channel: 'email', shard: 0 }]);
  });

  test('is not complete, and its run not to be closed, before the last piece', async () => {
    const contacts = 5_600;
    const { runId, listId, workspaceId } = await plantRun(db, { contacts });
    const input = {
      ...{ runId, workspaceId, channel: 'sms' as const },
      ...{ contactListIds: [listId], placeholders: [], campaignParams: {} },
    };
    expect(await freezeShard(db, input)).toBe(false);
    expect((await readCounts(db, runId)).sms?.total).toBe(2_500);
    expect(await frozenShards(db, runId)).toBeUndefined();
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    expect(await closeRun(db, runId, 'completed', undefined)).toBe(false);
    expect(await freezeShard(db, input)).toBe(true);
    expect(await frozenShards(db, runId)).toEqual([0, 1].map((shard) => ({ channel: 'sms', shard })));
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    expect(await closeRun(db, runId, 'completed', undefined)).toBe(true);
  });
});

describe('where an audience is cut into shards', () => {
  test('is one for a small audience, and begins with small ones for a large one', () => {
    expect(shardEnds(0, false)).toEqual([0]);
    expect(shardEnds(5_000, false)).toEqual([5_000]);
    expect(shardEnds(10_000, false)).toEqual([2_500, 10_000]);
    expect(shardEnds(20_000, false)).toEqual([2_500, 7_500, 20_000]);
    expect(shardEnds(25_101, false)).toEqual([2_500, 7_500, 16_301, 25_101]);
    expect(shardEnds(1_000_000, false).slice(0, 4)).toEqual([2_500, 7_500, 17_500, 37_500]);
    expect(shardEnds(1_000_000, false)).toHaveLength(16);
    expect(shardEnds(1_000_000, true)).toHaveLength(40);
  });

  test('ends with the last contact', () => {
    fc.assert(
      fc.property(fc.nat(20_000_000), fc.boolean(), (contacts, byHours) => {
        const ends = shardEnds(contacts, byHours);
        expect(ends.at(-1)).toBe(contacts);
        expect(ends).toEqual([...ends].sort((one, other) => one - other));
        expect(ends.length).toBeLessThanOrEqual(byHours ? 64 : 16);
      }),
    );
  });
});
