/** Proves that ended runs lose their recipients after the days that records are kept, and keep their counts and outcomes. */

import { type Kysely, sql } from 'kysely';
import { changeCampaign } from '../../src/campaigns/actions/campaign-actions';
import { retryFailed } from '../../src/campaigns/actions/retry-failed';
import { findRunWithRecipients } from '../../src/campaigns/model/campaign-record';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { describeCampaign } from '../../src/campaigns/reports/campaign-detail';
import { readOutcomes } from '../../src/campaigns/reports/recipient-outcomes';
import { keepCampaignRetention } from '../../src/campaigns/retention';
import { offerChunk, recordChunk, takePage } from '../../src/campaigns/runs/ledger';
import { readCounts } from '../../src/campaigns/runs/ledger-counts';
import { moveRun } from '../../src/campaigns/runs/runs';
import { createLog } from '../../src/log';
import { plantAudience } from '../support/audience';
import { describeWithDatabase } from '../support/storage';

const DAY_MS = 86_400_000;
const RECIPIENTS = 2_500;

describeWithDatabase('a run that ended', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  /** A run with one refused recipient and many delivered ones. */
  async function endedRun(phase: 'completed' | 'failed', contacts = 3) {
    const planted = await plantAudience(db, { contacts });
    await moveRun(db, planted.runId, 'running');
    const taking = await takePage(db, { ...planted, shard: 0, lane: 0 }, contacts);
    if (taking.kind !== 'page') throw new Error('no page was opened');
    const recipients = await offerChunk(db, taking.page, contacts);
    const results = recipients.map(({ seq }) =>
      seq === 0
        ? { seq, state: 'rejected' as const, code: 'blocked', attempted: true }
        : { seq, state: 'delivered' as const, attempted: true },
    );
    await recordChunk(db, taking.page, results as never);
    await moveRun(db, planted.runId, phase, phase === 'failed' ? 'invalid_client: refused' : undefined);
    return planted;
  }

  const left = async (table: 'recipients' | 'calls' | 'skipped_contacts', runId: string) =>
    (
      await sql<{
        n: number;
      }>`select count(*)::int as n from ${sql.table(table)} where run_id = ${runId}`.execute(db)
    ).rows[0]?.n;

  async function sweepInDays(ahead: number, days: number | undefined) {
    const retention = keepCampaignRetention({
      ...{ db, days, log: createLog('silent') },
      // No run here has messages at a service.
      held: { cancelWaiting: async () => false, release: () => Promise.reject(new Error('nothing is held')) },
      now: () => Date.now() + ahead * DAY_MS,
    });
    await retention.sweep();
    retention.stop();
  }

  test('keeps its recipients for as long as records are kept, and its counts and outcomes for ever', async () => {
    const { runId, campaignId, workspaceId } = await endedRun('completed', RECIPIENTS);
    await sql`insert into calls (run_id, seq, attempt) values (${runId}, 1, 1)`.execute(db);
    await sql`insert into skipped_contacts (run_id, channel, contact_id, reason, address)
      values (${runId}, 'sms', 'con_1', 'suppressed', '+12025550123')`.execute(db);
    const counts = await readCounts(db, runId);
    const outcomes = await readOutcomes(db, runId);
    expect(outcomes).toContainEqual({ channel: 'sms', state: 'rejected', code: 'blocked', count: 1 });
    await sweepInDays(4_000, undefined);
    await sweepInDays(29, 30);
    expect(await left('recipients', runId)).toBe(RECIPIENTS);
    expect((await describeCampaign(db, workspaceId, campaignId)).recipientsDeletedAt).toBeNull();

    await sweepInDays(31, 30);
    for (const table of ['recipients', 'calls', 'skipped_contacts'] as const) {
      expect([table, await left(table, runId)]).toEqual([table, 0]);
    }
    expect(await readCounts(db, runId)).toEqual(counts);
    expect(await readOutcomes(db, runId)).toEqual(outcomes);
    const detail = await describeCampaign(db, workspaceId, campaignId);
    expect(detail.recipientsDeletedAt).toBeInstanceOf(Date);
    expect(detail.finishedAt).toBeInstanceOf(Date);
  });

  test('has no recipients to list from the moment at which their deletion begins', async () => {
    const { workspaceId, campaignId, runId } = await endedRun('completed');
    const listed = () => findRunWithRecipients(db, workspaceId, campaignId, undefined);
    expect(await listed()).toBe(runId);
    await sql`update runs set recipients_deleted_at = now(), recipients_left = true where id = ${runId}`.execute(
      db,
    );
    expect(await left('recipients', runId)).toBe(3);
    expect(await listed()).toBeUndefined();
    await sweepInDays(0, 30);
  });

  test('loses the rest of its rows after a process was killed among them', async () => {
    const { runId } = await endedRun('completed');
    await sql`update runs set recipients_deleted_at = now(), recipients_left = true, outcomes = '[]'
      where id = ${runId}`.execute(db);
    await sweepInDays(0, 30);
    expect(await left('recipients', runId)).toBe(0);
    const marks = await db.selectFrom('runs').select('recipients_left').where('id', '=', runId).execute();
    expect(marks).toEqual([{ recipients_left: null }]);
  });

  test('cannot be resumed without its recipients', async () => {
    const { workspaceId, campaignId } = await endedRun('failed');
    await sweepInDays(31, 30);
    await expect(changeCampaign(db, workspaceId, campaignId, 'resume')).rejects.toMatchObject({
      code: 'recipients_deleted',
    });
  });

  test('sends to none of its recipients again while they are being deleted', async () => {
    const { workspaceId, campaignId, runId } = await endedRun('completed');
    await sql`update runs set recipients_deleted_at = now(), recipients_left = true, outcomes = '[]'
      where id = ${runId}`.execute(db);
    const which = { states: ['rejected'] as const, codes: ['blocked'] };
    expect(await retryFailed(db, workspaceId, campaignId, which)).toEqual({ retried: { sms: 0 } });
    await sweepInDays(0, 30);
    expect(await db.selectFrom('runs').select('phase').where('id', '=', runId).execute()).toEqual([
      { phase: 'completed' },
    ]);
  });

  test('is left alone while it lives, however long ago it began', async () => {
    const { runId } = await plantAudience(db, { contacts: 2 });
    await sweepInDays(4_000, 1);
    expect(await left('recipients', runId)).toBe(2);
  });
});
