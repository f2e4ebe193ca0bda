/** Proves which channel an explanation is about, of a person who was left out on several. */

import type { Kysely } from 'kysely';
import { createExplanations } from '../../../src/campaigns/explain/explain';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('explanations of a person who was left out', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  test('a suppressed channel comes before one without an address, whatever their order', async () => {
    const { runId, workspaceId, campaignId } = await plantRun(db, { contacts: 0 });
    const left = { run_id: runId, contact_id: 'con_left' };
    await db
      .insertInto('skipped_contacts')
      .values([
        { ...left, channel: 'email', reason: 'no_address' },
        { ...left, channel: 'sms', reason: 'suppressed', address: '+12025550123' },
        { ...left, channel: 'voice', reason: 'no_address' },
      ])
      .execute();
    const stories = { read: async () => ({ kind: 'told' as const, events: true, held: false, stories: [] }) };
    const { person } = createExplanations({ db, stories });
    const asked = { workspaceId, campaignId };
    for (const who of [{ contact: 'con_left' }, { to: '+12025550123' }]) {
      expect((await person({ ...asked, ...who })).skipped).toMatchObject({
        channel: 'sms',
        reason: 'suppressed',
      });
    }
    const email = await person({ ...asked, contact: 'con_left', channel: 'email' });
    expect(email.skipped).toMatchObject({ channel: 'email', reason: 'no_address' });
  });
});
