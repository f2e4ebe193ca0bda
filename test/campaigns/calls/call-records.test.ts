/** Proves that calls are shown with their recipients, in a file, and in counts by outcome. */

import type { Kysely } from 'kysely';
import { createCallRecords } from '../../../src/campaigns/calls/call-records';
import { openCall } from '../../../src/campaigns/calls/calls';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { listRecipients, withCalls } from '../../../src/campaigns/reports/recipients';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { messageUid } from '../../../src/domain/ids';
import { LIMITS } from '../../../src/domain/limits';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('the records of calls', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  async function called(contacts: number) {
    const run = await plantAudience(db, {
      contacts,
      channel: 'voice',
      options: { voice: { machine: 'hangup' } },
    });
    const taking = await takePage(db, { runId: run.runId, channel: 'voice', shard: 0, lane: 0 }, contacts);
    if (taking.kind !== 'page') throw new Error('no page');
    await offerChunk(db, taking.page, contacts);
    await recordChunk(db, taking.page, []);
    return run;
  }

  const told = (runId: string, seq: number, attempt: number, type: string, more: object = {}) => ({
    ...{
      seq: 1,
      at: '2026-11-21T10:15:00.000Z',
      id: 'msg',
      channel: 'voice' as const,
      type,
      state: 'sent' as const,
    },
    uid: messageUid({ runId, channel: 'voice', seq }, attempt),
    ...more,
  });

  test('show with the recipients, in a file, and counted by outcome', async () => {
    const { runId, workspaceId, campaignId } = await called(3);
    for (const [seq, attempt] of [
      [0, 1],
      [0, 2],
      [1, 1],
      [2, 1],
    ] as const) {
      await openCall(db, { runId, seq, attempt });
    }
    const said = [{ verb: 'say', text: 'Hello' }];
    const events = [
      told(runId, 0, 1, 'failed', { code: 'sip_503' }),
      told(runId, 0, 2, 'answered'),
      told(runId, 0, 2, 'completed', {
        data: {
          answeredBy: 'human',
          digits: '1',
          branch: 'yes',
          said,
          durationMs: 1_234.4,
          recording: 'rec_1',
          documents: ['https://example.com/next'],
        },
      }),
      told(runId, 1, 1, 'completed', { data: { answeredBy: 'machine_start' } }),
    ];
    await applyEvents(db, workspaceId, await readCursor(db, workspaceId), 'next', events);

    const records = createCallRecords({ db });
    expect(await records.summary(workspaceId, campaignId)).toEqual({
      calls: 4,
      open: 1,
      carrierFaults: 1,
      outcomes: { failed: 1, human: 1, machine: 1 },
    });
    const lines = [];
    for await (const page of await records.pages(workspaceId, campaignId)) lines.push(...page);
    expect(lines.map(({ attempt, outcome, code }) => [attempt, outcome, code])).toEqual([
      [1, 'failed', 'sip_503'],
      [2, 'human', null],
      [1, 'machine', null],
      [1, null, null],
    ]);
    expect(lines[1]).toMatchObject({
      uid: messageUid({ runId, channel: 'voice', seq: 0 }, 2),
      answeredBy: 'human',
      digits: '1',
      branch: 'yes',
      said,
      durationMs: 1_234,
      recording: 'rec_1',
      documents: ['https://example.com/next'],
      answeredAt: new Date('2026-11-21T10:15:00.000Z'),
    });

    const { recipients } = await listRecipients(db, runId, { limit: 10 });
    const shown = await withCalls(db, runId, recipients);
    expect(shown.map(({ calls, attempts }) => [calls?.length, attempts])).toEqual([
      [2, 2],
      [1, 1],
      [1, 1],
    ]);
  });

  test('of one recipient are listed up to a bound, the latest ones', async () => {
    const { runId } = await called(1);
    const attempts = LIMITS.callsListed + 5;
    for (let attempt = 1; attempt <= attempts; attempt++) await openCall(db, { runId, seq: 0, attempt });
    const { recipients } = await listRecipients(db, runId, { limit: 10 });
    const [one] = await withCalls(db, runId, recipients);
    expect(one?.calls?.map(({ attempt }) => attempt)).toEqual(
      Array.from({ length: LIMITS.callsListed }, (_, i) => i + 6),
    );
  });

  test('of a campaign without a run are none', async () => {
    const { workspaceId, campaignId, runId } = await called(1);
    await db.updateTable('campaigns').set({ current_run: null }).where('id', '=', campaignId).execute();
    const records = createCallRecords({ db });
    expect(await records.summary(workspaceId, campaignId)).toMatchObject({ calls: 0 });
    expect(await records.summary(workspaceId, campaignId, runId)).toMatchObject({ calls: 0, outcomes: {} });
  });
});
