/** Proves that the sweep which ends holds of old campaigns leaves alone what has begun since it found them. */

import { type Kysely, sql } from 'kysely';
import { endOldHolds } from '../../../src/campaigns/actions/old-holds';
import type { HeldMessages } from '../../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { createLog } from '../../../src/log';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('the hold of a campaign that is over', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(async () => {
    await sql`update runs set hold_ended_at = now() where phase = 'canceled'`.execute(db);
  });

  async function canceled(hoursAgo: number) {
    const planted = await plantRun(db, { contacts: 1 });
    await sql`update runs set phase = 'canceled', control = 'cancel', finished_at = now() - make_interval(hours => ${hoursAgo})
      where id = ${planted.runId}`.execute(db);
    return planted;
  }
  /** An occurrence of a recurring campaign, of which a gate had canceled the one before. */
  const begin = ({ runId, campaignId, workspaceId }: Awaited<ReturnType<typeof canceled>>) =>
    sql`insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id)
      values (${`${runId}b`}, ${workspaceId}, ${campaignId}, 2, 'running', ${`${runId}b`})`.execute(db);

  /** Another occurrence of the run's campaign, which ended two days ago. */
  const older = (runId: string, phase: 'canceled' | 'failed', control: 'cancel' | 'fail') =>
    sql`insert into runs (id, workspace_id, campaign_id, number, phase, control, workflow_id, finished_at)
      select ${`${runId}a`}, workspace_id, campaign_id, 0, ${phase}, ${control}, ${`${runId}a`}, now() - interval '2 days'
      from runs where id = ${runId}`.execute(db);

  async function sweep(asked: string[], meanwhile: () => Promise<unknown> = async () => undefined) {
    const held: HeldMessages = {
      async cancelWaiting(_, campaignId) {
        if (asked.length === 0) await meanwhile();
        asked.push(`cancel ${campaignId}`);
        return true;
      },
      async release(_, campaignId) {
        asked.push(`release ${campaignId}`);
      },
    };
    const step = endOldHolds(db, held, createLog('silent'));
    while ((await step()) > 0);
  }

  test('is ended once, a day after the cancel', async () => {
    const { campaignId } = await canceled(25);
    await canceled(23);
    const asked: string[] = [];
    await sweep(asked);
    expect(asked).toEqual([`cancel ${campaignId}`, `release ${campaignId}`]);
    await sweep(asked);
    expect(asked).toHaveLength(2);
  });

  test('stays, and its messages are not canceled, where an occurrence has begun while the sweep was at another', async () => {
    const first = await canceled(26);
    const second = await canceled(25);
    const asked: string[] = [];
    await sweep(asked, () => begin(second));
    expect(asked).toEqual([`cancel ${first.campaignId}`, `release ${first.campaignId}`]);
  });

  test('is ended also where an older occurrence stands failed, which nothing brings back', async () => {
    const { runId, campaignId } = await canceled(25);
    await older(runId, 'failed', 'fail');
    const asked: string[] = [];
    await sweep(asked);
    expect(asked).toEqual([`cancel ${campaignId}`, `release ${campaignId}`]);
    await sweep(asked);
    expect(asked).toHaveLength(2);
  });

  test('stays for a day after the last of its occurrences, however long ago another one was canceled', async () => {
    const { runId, campaignId } = await canceled(1);
    await older(runId, 'canceled', 'cancel');
    const asked: string[] = [];
    await sweep(asked);
    expect(asked.filter((one) => one.endsWith(campaignId))).toEqual([]);
  });

  test('stays where the newest occurrence has failed and may be sent again', async () => {
    const { runId, campaignId } = await canceled(25);
    await sql`update runs set phase = 'failed', control = 'fail' where id = ${runId}`.execute(db);
    const asked: string[] = [];
    await sweep(asked);
    expect(asked.filter((one) => one.endsWith(campaignId))).toEqual([]);
  });
});
