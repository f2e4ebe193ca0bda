/** Proves that a run’s holds, releases and end follow what the operator wants, however attempts overlap. */

import { MockActivityEnvironment } from '@temporalio/testing';
import { type Kysely, sql } from 'kysely';
import { changeCampaign } from '../../src/campaigns/actions/campaign-actions';
import { openCalls } from '../../src/campaigns/actions/cancel-run';
import { amendCampaign } from '../../src/campaigns/actions/change-campaign';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { closeRun, dueShards } from '../../src/campaigns/runs/run-end';
import { moveRun, readWantedControl } from '../../src/campaigns/runs/runs';
import type { Action } from '../../src/domain/campaign';
import type { Gateway } from '../../src/gateway/gateway';
import { plantAudience } from '../support/audience';
import { reply } from '../support/reply';
import { describeWithDatabase } from '../support/storage';
import { PageRig, StubService } from './page-rig';

const HOUR_MS = 3_600_000;
const clock = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 16);

describeWithDatabase('the books of a run', (database) => {
  let db: Kysely<CampaignTables>;
  let service: StubService;
  let gateway: Gateway;
  let rig: PageRig;

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  beforeEach(async () => {
    service = new StubService();
    gateway = await service.start();
    rig = new PageRig(db, gateway);
  });

  afterEach(async () => {
    await gateway.close();
    await service.stop();
  });

  const rowOf = (runId: string) =>
    db
      .selectFrom('runs')
      .select(['phase', 'control', 'reason', 'launches'])
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();

  async function running(options: { contacts?: number; options?: Record<string, unknown> } = {}) {
    const planted = await plantAudience(db, { contacts: 2, ...options });
    await moveRun(db, planted.runId, 'running');
    const { workspaceId, campaignId } = planted;
    return { ...planted, act: (action: Action) => changeCampaign(db, workspaceId, campaignId, action) };
  }

  describe('what the owner wants of the service', () => {
    const asked: string[] = [];
    /** What happens while the first request of the attempt under test is on its way. */
    async function applyWhile(runId: string, meanwhile: () => Promise<unknown>) {
      asked.length = 0;
      service.capabilities = ['holds'];
      let isFirst = true;
      service.hold = async (method, response) => {
        if (isFirst) {
          isFirst = false;
          await meanwhile();
        }
        asked.push(method);
        reply(response, 200);
      };
      return new MockActivityEnvironment().run(rig.orchestrator().applyControl, { runId });
    }

    test('is released by the attempt that held it after a resume', async () => {
      const { runId, act } = await running();
      await act('pause');
      expect(await applyWhile(runId, () => act('resume'))).toBe('run');
      expect(asked).toEqual(['PUT', 'DELETE']);
    });

    test('is not held for an occurrence that waits for its approval while another one sends', async () => {
      const { runId } = await running();
      await sql`
        insert into runs (id, workflow_id, workspace_id, campaign_id, number, phase, control)
        select ${`${runId}-2`}, ${`${runId}-2`}, workspace_id, campaign_id, number + 1, 'planning', 'pause' from runs
        where id = ${runId}`.execute(db);
      expect(await applyWhile(`${runId}-2`, async () => undefined)).toBe('pause');
      expect(asked).toEqual([]);
      await sql`update runs set control = 'pause' where id = ${runId}`.execute(db);
      expect(await applyWhile(`${runId}-2`, async () => undefined)).toBe('pause');
      expect(asked).toEqual(['PUT']);
    });

    test('is held by the attempt that released it after a pause, and read as often as it changes', async () => {
      const { runId, act } = await running();
      expect(await applyWhile(runId, () => act('pause'))).toBe('pause');
      expect(asked).toEqual(['DELETE', 'PUT']);
      expect(await applyWhile(runId, async () => undefined)).toBe('pause');
      expect(asked).toEqual(['PUT']);
    });

    test('is released by the next look when a pause held it and the run was told neither of that nor of the resume', async () => {
      const { runId, act } = await running();
      service.capabilities = ['holds'];
      asked.length = 0;
      service.hold = async (method, response) => {
        asked.push(method);
        reply(response, 200);
      };
      await act('pause');
      await act('resume');
      const look = (attempt = 1) =>
        new MockActivityEnvironment({ attempt }).run(rig.orchestrator().lookWhileSending, { runId });
      // Its shards sleep since the pause, for up to half an hour.
      expect(await look()).toEqual({ kind: 'due', shards: [{ channel: 'sms', shard: 0 }] });
      expect(asked).toEqual(['DELETE']);
      expect(await look()).toEqual({ kind: 'wait' });
      // The attempt that applied it was killed before its answer arrived.
      expect(await look(2)).toEqual({ kind: 'due', shards: [{ channel: 'sms', shard: 0 }] });
      expect(asked).toEqual(['DELETE']);
    });

    test('is heard by the next look when its pace was changed and the run was not signalled', async () => {
      const { runId, workspaceId, campaignId } = await running();
      const look = () => new MockActivityEnvironment().run(rig.orchestrator().lookWhileSending, { runId });
      expect(await look()).toEqual({ kind: 'wait' });
      const looks = async () =>
        (await db.selectFrom('run_looks').select('id').where('run_id', '=', runId).execute()).length;
      const before = await looks();
      await amendCampaign(db, workspaceId, campaignId, { delivery: { ratePerSecond: 10 } });
      // The watcher looks at the run, and its shards sleep at the old pace, for up to half an hour.
      expect(await looks()).toBe(before + 1);
      expect((await readWantedControl(db, runId)).isApplied).toBe(false);
      expect(await look()).toEqual({ kind: 'due', shards: [{ channel: 'sms', shard: 0 }] });
      expect(await look()).toEqual({ kind: 'wait' });
    });

    test('is held by the next look at a run that was canceled and not signalled, which ends its sleeping shards', async () => {
      const { runId, act } = await running();
      service.capabilities = ['holds'];
      asked.length = 0;
      service.hold = async (method, response) => {
        asked.push(method);
        reply(response, 200);
      };
      await act('cancel');
      const { lookWhileSending } = rig.orchestrator();
      // The workflow wakes its shards then, which read that they are to end.
      expect(await new MockActivityEnvironment().run(lookWhileSending, { runId })).toEqual({
        kind: 'failing',
      });
      expect(asked).toEqual(['PUT']);
    });

    test('is not held for an occurrence that a gate canceled, while another one of the campaign goes on', async () => {
      const { runId, campaignId, workspaceId } = await running();
      await sql`insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id)
        values (${`${runId}b`}, ${workspaceId}, ${campaignId}, 2, 'running', ${`${runId}b`})`.execute(db);
      await sql`update runs set control = 'cancel' where id = ${runId}`.execute(db);
      expect(await applyWhile(runId, async () => undefined)).toBe('cancel');
      expect(asked).toEqual([]);
      await sql`update runs set control = 'cancel' where id = ${`${runId}b`}`.execute(db);
      expect(await applyWhile(runId, async () => undefined)).toBe('cancel');
      expect(asked).toEqual(['PUT']);
    });

    test('is asked for again when what is wanted has changed twice while it was asked for', async () => {
      const { runId, act } = await running();
      await act('pause');
      await act('resume');
      const twice = async () => {
        await act('pause');
        await act('resume');
      };
      expect(await applyWhile(runId, twice)).toBe('run');
      expect(await readWantedControl(db, runId)).toMatchObject({ control: 'run', isApplied: false });
    });
  });

  describe('a refusal of the account that comes when its launch has ended', () => {
    const resumeFailed = async ({ runId, act }: Awaited<ReturnType<typeof running>>) => {
      if ((await rowOf(runId)).launches > 1) return;
      await closeRun(db, runId, 'failed', 'internal: x', 1);
      await act('resume');
    };

    test('does not stop the run that was resumed, of a page', async () => {
      const run = await running();
      service.answer = async (_, response) => {
        await resumeFailed(run);
        reply(response, 401, { code: 'invalid_client' });
      };
      expect(await rig.sendPage(run.runId, 10, 1)).toEqual({ kind: 'stopped', control: 'fail' });
      expect(await rowOf(run.runId)).toEqual({ phase: 'running', control: 'run', reason: null, launches: 2 });
      expect(await rig.sendPage(run.runId, 10, 1)).toEqual({ kind: 'stopped', control: 'fail' });
      expect(await rowOf(run.runId)).toMatchObject({ control: 'run' });
      expect(await rig.sendPage(run.runId, 10, 2)).toEqual({ kind: 'stopped', control: 'fail' });
      expect(await rowOf(run.runId)).toMatchObject({ control: 'fail' });
    });

    test('does not stop the run that was resumed, of a call', async () => {
      const { runId, campaignId, workspaceId } = await plantAudience(db, { contacts: 1, channel: 'voice' });
      await moveRun(db, runId, 'running');
      await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
      const act = (action: Action) => changeCampaign(db, workspaceId, campaignId, action);
      service.answer = async (_, response) => {
        await resumeFailed({ runId, act } as Awaited<ReturnType<typeof running>>);
        reply(response, 401, { code: 'invalid_client' });
      };
      expect(await rig.placeCall(runId)).toEqual({ kind: 'stopped', control: 'fail' });
      expect(await rowOf(runId)).toMatchObject({ phase: 'running', control: 'run', reason: null });
    });
  });

  test('have those canceled woken too whom a cancel was quicker to take back than to tell', async () => {
    const { runId } = await plantAudience(db, { contacts: 3, channel: 'voice' });
    await sql`update shards set next_seq = 2 where run_id = ${runId}`.execute(db);
    await sql`update recipients set state = 'canceled' where run_id = ${runId} and seq > 0`.execute(db);
    const woken = async (control: 'run' | 'cancel') =>
      (await openCalls(db, runId, -1, 10, control)).map(({ seq }) => seq);
    expect([await woken('run'), await woken('cancel')]).toEqual([[0], [0, 1]]);
  });

  test('are closed as canceled when the owner canceled what fails', async () => {
    const { runId, act } = await running();
    await act('cancel');
    const close = (launch: number) =>
      new MockActivityEnvironment().run(rig.orchestrator().closeRun, {
        runId,
        launch,
        phase: 'failed' as const,
        reason: 'internal: x',
      });
    expect(await close(2)).toBe(true);
    expect(await rowOf(runId)).toMatchObject({ phase: 'running' });
    expect(await close(1)).toBe(true);
    expect(await rowOf(runId)).toMatchObject({ phase: 'canceled', reason: 'internal: x' });
    expect(await rig.states(runId)).toEqual({ canceled: 2 });
  });

  describe('retries that fall due while all hours are closed', () => {
    const quiet = { from: clock(-2 * HOUR_MS), to: clock(2 * HOUR_MS), timezone: 'Etc/UTC' };

    async function retrying(quietHours: object) {
      const run = await running({ options: { delivery: { quietHours } } });
      await sql`update shards set next_seq = to_seq where run_id = ${run.runId}`.execute(db);
      await sql`update recipients set state = 'waiting', retry_at = now() - interval '1 minute'
        where run_id = ${run.runId}`.execute(db);
      await sql`insert into shard_counts values (${run.runId}, 'sms', 0, 'waiting', 2)`.execute(db);
      return run;
    }

    const look = (runId: string, mode: 'sending' | 'settling') => {
      const { lookWhileSending, lookWhileSettling } = rig.orchestrator();
      const environment = new MockActivityEnvironment();
      return mode === 'sending'
        ? environment.run(lookWhileSending, { runId })
        : environment.run(lookWhileSettling, { runId, sinceMs: HOUR_MS });
    };

    const SHARDS = { kind: 'due', shards: [{ channel: 'sms', shard: 0 }] };

    test('start no shards, and are looked at again when the hours begin', async () => {
      const open = await retrying({ ...quiet, from: clock(2 * HOUR_MS), to: clock(3 * HOUR_MS) });
      expect(await look(open.runId, 'settling')).toEqual(SHARDS);
      const closed = await retrying(quiet);
      const found = await look(closed.runId, 'settling');
      expect(found).toMatchObject({ kind: 'wait' });
      const { waitMs = 0 } = found as { waitMs?: number };
      expect(waitMs).toBeGreaterThan(HOUR_MS);
      expect(waitMs).toBeLessThanOrEqual(2 * HOUR_MS);
      expect(await rowOf(closed.runId)).toMatchObject({ phase: 'running' });
    });

    test('wake none', async () => {
      const open = await retrying({ ...quiet, from: clock(2 * HOUR_MS), to: clock(3 * HOUR_MS) });
      expect(await look(open.runId, 'sending')).toEqual(SHARDS);
      const closed = await retrying(quiet);
      expect(await look(closed.runId, 'sending')).toEqual({ kind: 'wait' });
    });

    test('are left to pages that are open, and to hours that are each recipient’s own', async () => {
      const { runId } = await retrying(quiet);
      const closed = ['sms'] as const;
      expect(await dueShards(db, runId, { closed })).toEqual([]);
      await sql`insert into pages (run_id, channel, shard, page, lane, fence, from_seq, to_seq, seqs)
        values (${runId}, 'sms', 0, 1, 0, 1, 0, 0, '{0}')`.execute(db);
      expect(await dueShards(db, runId, { closed })).toEqual(SHARDS.shards);
      const local = await retrying({ ...quiet, timezone: 'recipient' });
      expect(await look(local.runId, 'settling')).toEqual(SHARDS);
    });
  });
});
