import { type Kysely, sql } from 'kysely';
import { createExplanations } from '../../../src/campaigns/explain/explain';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { listRecipients } from '../../../src/campaigns/reports/recipients';
import { recipientId } from '../../../src/domain/ids';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

const HOUR_MS = 3_600_000;
const DUE = new Date('2026-11-01T09:00:00Z');

describeWithDatabase('the hour of a recipient', (database) => {
  let db: Kysely<CampaignTables>;
  let planted: Awaited<ReturnType<typeof plantRun>>;
  const again = new Date(Date.now() + 5 * HOUR_MS);

  /** Of a page that was taken: under a cap, in a retry that a page has, waiting for their turn, and over; then pending. */
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    planted = await plantRun(db, { contacts: 0, options: { delivery: { expireAfterSeconds: 3_600 } } });
    const { runId } = planted;
    await sql`
      insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at, state, code, retry_at)
      select ${runId}, 'sms', i, 0, 'c' || i, '+1' || (2020000000 + i), '{}', ${DUE},
        (array['waiting', 'waiting', 'waiting', 'expired', 'pending'])[i + 1],
        (array['frequency_cap', 'busy', 'later_stage', 'frequency_cap', null])[i + 1],
        case when i <= 1 then ${again}::timestamptz end
      from generate_series(0, 4) i`.execute(db);
    await sql`
      insert into shards (run_id, channel, shard, from_seq, to_seq, next_seq)
      values (${runId}, 'sms', 0, 0, 10, 4)`.execute(db);
    await sql`
      insert into pages (run_id, channel, shard, page, lane, fence, from_seq, to_seq, resolved, seqs)
      values (${runId}, 'sms', 0, 0, 0, 1, 0, 0, 0, array[1])`.execute(db);
    await sql`update runs set phase = 'running' where id = ${runId}`.execute(db);
  });

  test('is that of the next try while they wait for one, and else the hour they were given', async () => {
    const { recipients } = await listRecipients(db, planted.runId, { limit: 10 });
    expect(recipients.map(({ state, dueAt }) => [state, dueAt])).toEqual([
      ['waiting', again],
      ['sending', DUE],
      ['waiting', DUE],
      ['expired', DUE],
      ['pending', DUE],
    ]);
  });

  test('comes with the attempts that were made: none for who expired in their page', async () => {
    const { recipients } = await listRecipients(db, planted.runId, { limit: 10 });
    expect(recipients.map(({ state, attempts }) => [state, attempts])).toEqual([
      ['waiting', 0],
      ['sending', 0],
      ['waiting', 0],
      ['expired', 0],
      ['pending', 0],
    ]);
  });

  test('is the same where it is explained, and the time to expire goes on from the hour they were given', async () => {
    const stories = { read: async () => ({ kind: 'told' as const, events: true, held: false, stories: [] }) };
    const id = recipientId({ runId: planted.runId, channel: 'sms', seq: 0 });
    const { workspaceId, campaignId } = planted;
    const told = await createExplanations({ db, stories }).recipient(workspaceId, campaignId, id);
    expect(told.recipient?.dueAt).toEqual(again);
    expect(told.next).toMatchObject({
      why: 'cap',
      at: again,
      detail: expect.stringContaining('ends as expired'),
    });
  });
});
