import { keepRunsLaunched } from '../../../src/campaigns/runs/relaunch';
import type { CampaignTables } from '../../../src/campaigns/tables';
import { createLog } from '../../../src/log';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('runs without a workflow', (database) => {
  it('do not keep a worker from starting when Temporal is away, and are launched when it is back', async () => {
    const db = (await database.open()).tables<CampaignTables>();
    const { runId } = await plantRun(db, { contacts: 1 });
    const launched: string[] = [];
    let isAway = true;
    const launcher = {
      launch: async (run: { runId: string }) => {
        if (isAway) throw new Error('no connection');
        launched.push(run.runId);
      },
      launchSend: async () => undefined,
      wakeSend: async () => undefined,
    } as unknown as Parameters<typeof keepRunsLaunched>[1];
    const keep = () => keepRunsLaunched(db, launcher, createLog('silent'));
    (await keep()).stop();
    expect(launched).toEqual([]);
    isAway = false;
    (await keep()).stop();
    expect(launched).toEqual([runId]);
  });
});
