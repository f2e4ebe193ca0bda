/** Proves that an approval lets go on what waits for it, and nothing that its owner has paused. */

import { type Kysely, sql } from 'kysely';
import { approveCampaign } from '../../../src/campaigns/actions/approve';
import { changeCampaign } from '../../../src/campaigns/actions/campaign-actions';
import { takeDigest } from '../../../src/campaigns/approval/digest';
import { freezeAudience } from '../../../src/campaigns/audience/audience';
import { readCampaign } from '../../../src/campaigns/model/campaign-record';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import type { Action } from '../../../src/domain/campaign';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';
import { dailyCampaign } from '../schedules/daily-campaign';

describeWithDatabase('an approval', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  interface Waiting {
    workspaceId: string;
    campaignId: string;
    runId: string;
  }

  /** The policy is set after the start, so that the run pauses itself when it freezes its audience. */
  async function waits({ workspaceId, campaignId, runId }: Waiting) {
    await sql`insert into policy_versions (workspace_id, version, policy)
      values (${workspaceId}, 1, '{"approval": {"above": 0, "channels": ["sms"]}}')`.execute(db);
    const campaign = () => readCampaign(db, workspaceId, campaignId);
    const { contactListIds } = await campaign();
    await freezeAudience(db, {
      ...{ runId, workspaceId, channel: 'sms' as const, contactListIds },
      ...{ placeholders: [], campaignParams: {} },
    });
    return {
      campaign,
      act: (action: Action) => changeCampaign(db, workspaceId, campaignId, action),
      async approve() {
        const { digest } = await takeDigest(db, workspaceId, await campaign());
        return approveCampaign(db, workspaceId, campaignId, { digest, userId: 'usr_other' });
      },
    };
  }

  const planted = () => plantRun(db, { contacts: 2 });

  async function occurrence(): Promise<Waiting> {
    const { workspaceId, campaignId, take, first } = await dailyCampaign(db);
    return { workspaceId, campaignId, runId: String((await take(first))?.runId) };
  }

  test.each([
    ['a campaign', planted],
    ['an occurrence', occurrence],
  ] as const)('lets %s go on that waits for it', async (_, make) => {
    const { campaign, approve } = await waits(await make());
    expect((await campaign()).run).toMatchObject({
      control: 'pause',
      own_reason: { code: 'approval_required' },
    });
    expect(await approve()).toMatchObject({ controlChanged: [{ launch: 1 }] });
    expect((await campaign()).run).toMatchObject({ control: 'run', own_reason: null });
  });

  test.each([
    ['a campaign', planted],
    ['an occurrence', occurrence],
  ] as const)('leaves %s paused that its owner has paused as well', async (_, make) => {
    const { campaign, approve, act } = await waits(await make());
    await act('pause');
    await expect(act('resume')).rejects.toMatchObject({ code: 'approval_required' });
    await approve();
    expect(await campaign()).toMatchObject({ phase: 'paused', run: { control: 'pause' } });
    await act('resume');
    expect((await campaign()).run).toMatchObject({ control: 'run' });
  });
});
