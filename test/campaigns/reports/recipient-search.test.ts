import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { readOutcomes } from '../../../src/campaigns/reports/recipient-outcomes';
import { listRecipients, type RecipientFilter } from '../../../src/campaigns/reports/recipients';
import { LIMITS } from '../../../src/domain/limits';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

/** A run's recipients are found by person and by code, and counted by state and code, as they are listed. */
describeWithDatabase('the recipients of a run, searched', (database) => {
  let db: Kysely<CampaignTables>;
  let runId: string;

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(async () => {
    // person1@example.com, +12022000001 and so on; what tells them apart is made below.
    ({ runId } = await plantAudience(db, { contacts: 12 }));
    await sql`
      update contacts c set external_id = 'Cust-' || r.seq, identity = 'x:Cust-' || r.seq
      from recipients r where r.run_id = ${runId} and r.contact_id = c.id`.execute(db);
  });

  async function seqs(filter: RecipientFilter, limit = 50): Promise<number[]> {
    const { recipients } = await listRecipients(db, runId, { ...filter, limit });
    return recipients.map(({ id }) => Number(id.slice(id.lastIndexOf('.') + 1)));
  }
  /** Also with the counters, as everything that moves recipients keeps them. */
  async function end(state: string, code: string | null, at: number[]): Promise<void> {
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    await sql`update recipients set state = ${state}, code = ${code} where run_id = ${runId} and seq = any(${at}::int[])`.execute(
      db,
    );
    await sql`
      insert into shard_counts (run_id, channel, shard, state, count) values (${runId}, 'sms', 0, ${state}, ${at.length})
      on conflict (run_id, channel, shard, state) do update set count = shard_counts.count + excluded.count`.execute(
      db,
    );
  }

  test.each([
    ['cust-1', [1, 10, 11]],
    ['CUST-11', [11]],
    ['PERSON3@', [2]],
    ['+1 202 200 0012', [11]],
    ['+1202', [...Array(12).keys()]],
    ['%', []],
    ['example.com', []],
  ])('a search for %s finds those whose identifiers begin so', async (search, expected) => {
    expect(await seqs({ search })).toEqual(expected);
  });

  test('the address that a message went to is found after the contact has another one', async () => {
    await sql`update contacts set phone = '+12029999999' where external_id = 'Cust-4'`.execute(db);
    expect(await seqs({ search: '+12022000005' })).toEqual([4]);
    expect(await seqs({ search: '+12029999999' })).toEqual([4]);
  });

  test('pages of a search follow each other', async () => {
    const first = await listRecipients(db, runId, { search: 'cust-1', limit: 2 });
    expect(first.recipients).toHaveLength(2);
    const second = await listRecipients(db, runId, { search: 'cust-1', limit: 2, after: first.next });
    expect([second.recipients.map(({ id }) => id), second.next]).toEqual([[`${runId}.sms.11`], undefined]);
  });

  test('a search that finds more contacts than are read one by one finds the same', async () => {
    const before = LIMITS.searchedByIdMax;
    Object.assign(LIMITS, { searchedByIdMax: 2 });
    try {
      expect(await seqs({ search: 'cust-1' })).toEqual([1, 10, 11]);
      expect(await seqs({ search: 'person' })).toHaveLength(12);
      expect(await seqs({ search: '+1202', state: 'pending' }, 3)).toEqual([0, 1, 2]);
    } finally {
      Object.assign(LIMITS, { searchedByIdMax: before });
    }
  });

  test('a code is listed, alone and beside other filters', async () => {
    await end('undelivered', 'absent', [2, 5]);
    await end('failed', 'absent', [7]);
    await end('failed', 'gone', [8]);
    expect(await seqs({ code: 'absent' })).toEqual([2, 5, 7]);
    expect(await seqs({ code: 'absent', state: 'failed' })).toEqual([7]);
    expect(await seqs({ code: 'absent', search: 'cust-5' })).toEqual([5]);
    expect(await seqs({ code: 'unheard_of' })).toEqual([]);
  });

  test('outcomes are counted by state and code, the largest first, and sum to the run', async () => {
    await end('undelivered', 'absent', [2, 5]);
    await end('failed', 'gone', [8]);
    await end('delivered', null, [0, 1, 3]);
    expect(await readOutcomes(db, runId)).toEqual([
      { channel: 'sms', state: 'accepted', code: null, count: 6 },
      { channel: 'sms', state: 'delivered', code: null, count: 3 },
      { channel: 'sms', state: 'undelivered', code: 'absent', count: 2 },
      { channel: 'sms', state: 'failed', code: 'gone', count: 1 },
    ]);
  });

  test('recipients of stages to come are counted by their code', async () => {
    const { rows } = await sql<{
      workspace_id: string;
    }>`select workspace_id from runs where id = ${runId}`.execute(db);
    await sql`
      insert into run_releases (run_id, workspace_id, stages) values (${runId}, ${rows[0]?.workspace_id ?? ''}, 2)`.execute(
      db,
    );
    await end('waiting', 'later_stage', [6, 7, 8, 9]);
    expect(await readOutcomes(db, runId)).toContainEqual({
      channel: 'sms',
      state: 'waiting',
      code: 'later_stage',
      count: 4,
    });
    expect(await seqs({ code: 'later_stage' })).toEqual([6, 7, 8, 9]);
  });

  test('a run without recipients has no outcomes', async () => {
    expect(await readOutcomes(db, undefined)).toEqual([]);
  });
});
