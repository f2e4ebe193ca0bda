/** Proves that runs and sends without a workflow are launched, without flooding Temporal. */

import { sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { liveRuns } from '../../../src/campaigns/runs/runs';
import { keepRunsLaunched, LaunchedRuns, launchNotBegun } from '../../../src/campaigns/watch/run-reconciler';
import { createLog } from '../../../src/log';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('runs without a workflow', (database) => {
  test('do not keep a worker from starting when Temporal is away, and are launched when it is back', async () => {
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

  test('are launched once each by a process, and then a hundred a minute in turn', async () => {
    const db = (await database.open()).tables<CampaignTables>();
    await sql`
      insert into campaigns (id, workspace_id, name, channels, settings, contact_list_ids, options, stage)
      select 'cmp' || i, 'wsp', 'c', '{sms}', '{}', '{}', '{}', 'started' from generate_series(1, 250) i`.execute(
      db,
    );
    await sql`
      insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id)
      select 'run' || i, 'wsp', 'cmp' || i, 1, 'running', 'x' from generate_series(1, 250) i`.execute(db);
    const runs = new LaunchedRuns();
    const look = async () => {
      const due = runs.toBeLaunched(await liveRuns(db));
      for (const run of due) runs.note(run);
      return due.map(({ runId }) => runId);
    };
    expect(await look()).toHaveLength(250);
    const [second, third, fourth] = [await look(), await look(), await look()];
    expect([second, third, fourth].map(({ length }) => length)).toEqual([100, 100, 100]);
    expect(new Set([...second, ...third, ...fourth]).size).toBe(250);
    const { runId } = await plantRun(db, { contacts: 1 });
    expect(await look()).toContain(runId);
  });

  test('are launched by a process that begins to serve, though another one may have them in its memory', async () => {
    const db = (await database.open()).tables<CampaignTables>();
    const [due, sending, planned] = [
      await plantRun(db, { contacts: 1 }),
      await plantRun(db, { contacts: 1 }),
      await plantRun(db, { contacts: 1 }),
    ];
    await sql`update runs set phase = 'running' where id = ${sending.runId}`.execute(db);
    await sql`update runs set launch_at = now() + interval '1 day' where id = ${planned.runId}`.execute(db);
    await sql`
      insert into durable_sends (id, workspace_id, uid, channel, content, due_at, finished_at)
      select 'snd' || i, 'wsp', 'uid' || i, 'sms', '{}', now() + make_interval(days => i - 1),
        case when i = 2 then now() end from generate_series(1, 3) i`.execute(db);
    const launched: string[] = [];
    let isAway = true;
    const launch = async ({ runId, sendId }: { runId?: string; sendId?: string }) => {
      if (isAway) throw new Error('no connection');
      launched.push(runId ?? sendId ?? '');
    };
    const launcher = { launch, launchSend: launch } as unknown as Parameters<typeof launchNotBegun>[1];
    await launchNotBegun(db, launcher, createLog('silent'));
    expect(launched).toEqual([]);
    isAway = false;
    await launchNotBegun(db, launcher, createLog('silent'));
    expect(launched).toEqual(['snd1', due.runId]);
  });
});
