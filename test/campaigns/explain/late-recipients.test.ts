import { type Kysely, sql } from 'kysely';
import { createExplanations, type Explanation } from '../../../src/campaigns/explain/explain';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { recipientId } from '../../../src/domain/ids';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

const HOUR_MS = 3_600_000;
const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16);

type Planted = Awaited<ReturnType<typeof plantAudience>>;

describeWithDatabase('the explanation of a recipient who is not sent to again', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  function explain({ workspaceId, campaignId, runId, channel }: Planted): Promise<Explanation> {
    const stories = { read: async () => ({ kind: 'told' as const, events: true, held: false, stories: [] }) };
    const id = recipientId({ runId, channel, seq: 0 });
    return createExplanations({ db, stories }).recipient(workspaceId, campaignId, id);
  }

  test('names when they are due, because they end then where the next hour is too late', async () => {
    const now = Date.now();
    const quietHours = { from: clock(now - HOUR_MS), to: clock(now + 4 * HOUR_MS), timezone: 'UTC' };
    const options = { delivery: { quietHours, expireAfterSeconds: 3 * 3_600 } };
    const planted = await plantAudience(db, { contacts: 1, options });
    const { runId } = planted;
    const retryAt = new Date(now + 2 * HOUR_MS);
    await sql`
      update recipients set state = 'waiting', code = 'timeout', attempts = 1, retry_at = ${retryAt.toISOString()}::timestamptz
      where run_id = ${runId}`.execute(db);
    const { next } = await explain(planted);
    expect(next?.detail).toContain('too late for this recipient');
    expect(next?.at).toEqual(retryAt);
  });

  test.each([
    ['canceled', 'was canceled before it was sent again', 'canceled before the next attempt'],
    ['expired', 'was not sent again in time', 'too late for another attempt'],
    ['suppressed', 'was not sent again, because', 'suppression list'],
  ])('%s after a call, says that there was an attempt', async (state, summary, step) => {
    const planted = await plantAudience(db, { contacts: 1, channel: 'voice' });
    const { runId } = planted;
    await sql`insert into calls (run_id, seq, attempt, data, ended_at, outcome) values (${runId}, 0, 1, '{}', now(), 'busy')`.execute(
      db,
    );
    await sql`update shards set next_seq = 1 where run_id = ${runId}`.execute(db);
    await sql`update recipients set state = ${state}, outcome = 'busy', attempt = 1, attempts = 1 where run_id = ${runId}`.execute(
      db,
    );
    const explained = await explain(planted);
    expect(explained.summary).toContain(summary);
    expect(explained.steps.at(-1)?.detail).toContain(step);
  });
});
