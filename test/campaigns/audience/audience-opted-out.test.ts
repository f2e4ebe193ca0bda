/** Proves that recipients of excluded campaigns are left out, with the reason stored. */

import type { Kysely } from 'kysely';
import { freezeAudience } from '../../../src/campaigns/audience/audience';
import { audienceOf } from '../../../src/campaigns/audience/audience-sql';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import type { RunOptions } from '../../../src/campaigns/runs/runs';
import { newId } from '../../../src/storage/new-id';
import { plantAudience, plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('contacts that are left out of a run', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  /** A run to the contacts of another's list. */
  async function freeze(workspaceId: string, listId: string, exclude: RunOptions['exclude']) {
    const { runId } = await plantRun(db, { contacts: 0, workspaceId });
    const source = {
      workspaceId,
      settings: { sms: { from: '12345', templateId: 'tpl_1', version: 1 } },
      contactListIds: [listId],
      options: { exclude: exclude ?? {} },
    };
    await freezeAudience(db, { ...audienceOf(source, 'sms', [], undefined), runId });
    const rows = await db.selectFrom('recipients').select('contact_id').where('run_id', '=', runId).execute();
    return { runId, recipients: rows.map((row) => row.contact_id.slice(-1)).sort() };
  }
  const skipped = async (runId: string) =>
    (
      await db
        .selectFrom('skipped_contacts')
        .select(['contact_id', 'reason'])
        .where('run_id', '=', runId)
        .orderBy('contact_id')
        .execute()
    ).map(({ contact_id, reason }) => `${contact_id.slice(-1)} ${reason}`);

  /** Of a campaign: 1 was reached, 2 was suppressed as it was sent to, 3 opted out before, 4 pressed the digit. */
  async function earlier() {
    const workspaceId = newId('wsp');
    const run = await plantAudience(db, { contacts: 5, workspaceId });
    const set = (seq: number, change: { state?: 'delivered' | 'suppressed'; outcome?: string }) =>
      db
        .updateTable('recipients')
        .set(change)
        .where('run_id', '=', run.runId)
        .where('seq', '=', seq)
        .execute();
    await set(0, { state: 'delivered' });
    await set(1, { state: 'suppressed' });
    await set(3, { state: 'delivered', outcome: 'opted_out' });
    await db.deleteFrom('recipients').where('run_id', '=', run.runId).where('seq', '=', 2).execute();
    await db
      .insertInto('skipped_contacts')
      .values({
        run_id: run.runId,
        channel: 'sms',
        contact_id: `${run.listId}-0000003`,
        reason: 'suppressed',
      })
      .execute();
    return run;
  }

  test('are kept with the reason, each', async () => {
    const { workspaceId, listId, campaignId } = await earlier();
    const { runId, recipients } = await freeze(workspaceId, listId, { campaignIds: [campaignId] });
    expect(recipients).toEqual(['2', '3', '5']);
    expect(await skipped(runId)).toEqual(['1 excluded', '4 excluded']);
  });

  test('with suppressionOnly are those alone who opted out of the other campaigns', async () => {
    const { workspaceId, listId, campaignId } = await earlier();
    const exclude = { campaignIds: [campaignId], suppressionOnly: true };
    const { runId, recipients } = await freeze(workspaceId, listId, exclude);
    expect(recipients).toEqual(['1', '5']);
    expect(await skipped(runId)).toEqual(['2 excluded', '3 excluded', '4 excluded']);
  });
});
