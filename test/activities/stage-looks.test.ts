import { MockActivityEnvironment } from '@temporalio/testing';
import type { Kysely } from 'kysely';
import { createActivities } from '../../activities';
import type { SendingLook } from '../../activities/run-checks';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import type { Gateway } from '../../src/gateway/gateway';
import { createLog } from '../../src/log';
import { StagedRun } from '../support/staged-run';
import { describeWithDatabase } from '../support/storage';
import { StubService } from './page-rig';

/** What a run does next when a process ended between opening a stage and telling its workflow. */
describeWithDatabase('a look at a run in stages', (database) => {
  const service = new StubService();
  let db: Kysely<CampaignTables>;
  let gateway: Gateway;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    service.capabilities = ['events'];
    gateway = await service.start();
  });
  afterAll(async () => {
    await gateway.close();
    await service.stop();
  });

  function look({ runId }: StagedRun): Promise<SendingLook> {
    const unused = async () => undefined;
    const signals = { startCall: unused, wakeCall: unused, launchRun: unused, removeSchedule: unused };
    const { orchestrator } = createActivities({
      ...{ db, gatewayFor: () => gateway, signals, log: createLog('silent') },
    });
    return new MockActivityEnvironment().run(orchestrator.lookWhileSending, { runId });
  }

  test('names the shards of a stage that a killed attempt has opened, those of calls too', async () => {
    const run = await StagedRun.plant(db, { stages: [{ percent: 50 }] }, { channels: ['sms', 'voice'] });
    // The attempt commits, and its answer is lost.
    await run.step();
    const shards = [
      { channel: 'sms', shard: 0 },
      { channel: 'voice', shard: 0 },
    ];
    expect(await look(run)).toEqual({ kind: 'due', shards, waitMs: 3_000 });
  });
});
