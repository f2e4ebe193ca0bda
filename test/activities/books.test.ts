import { CancelledFailure } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { type Kysely, sql } from 'kysely';
import { ClosedChannels } from '../../activities/closed-channels';
import { changeCampaign } from '../../src/campaigns/campaign-actions';
import { openCalls } from '../../src/campaigns/runs/cancel-run';
import { closeRun, dueShards } from '../../src/campaigns/runs/run-end';
import { moveRun } from '../../src/campaigns/runs/runs';
import type { CampaignTables } from '../../src/campaigns/tables';
import type { Action } from '../../src/domain/campaign';
import type { Gateway } from '../../src/gateway/gateway';
import { plantAudience } from '../support/audience';
import { reply } from '../support/reply';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
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

    it('is let go by whoever held it after a resume', async () => {
      const { runId, act } = await running();
      await act('pause');
      expect(await applyWhile(runId, () => act('resume'))).toBe('run');
      expect(asked).toEqual(['PUT', 'DELETE']);
    });

    it('is held by whoever let it go after a pause, and looked at as often as it changes', async () => {
      const { runId, act } = await running();
      expect(await applyWhile(runId, () => act('pause'))).toBe('pause');
      expect(asked).toEqual(['DELETE', 'PUT']);
      expect(await applyWhile(runId, async () => undefined)).toBe('pause');
      expect(asked).toEqual(['PUT']);
    });
  });

  describe('a refusal of the account that comes when its launch has ended', () => {
    const resumeFailed = async ({ runId, act }: Awaited<ReturnType<typeof running>>) => {
      if ((await rowOf(runId)).launches > 1) return;
      await closeRun(db, runId, 'failed', 'internal: x', 1);
      await act('resume');
    };

    it('does not stop the run that was resumed, of a page', async () => {
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

    it('does not stop the run that was resumed, of a call', async () => {
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

  it('have those canceled woken too whom a cancel was quicker to take back than to tell', async () => {
    const { runId } = await plantAudience(db, { contacts: 3, channel: 'voice' });
    await sql`update shards set next_seq = 2 where run_id = ${runId}`.execute(db);
    await sql`update recipients set state = 'canceled' where run_id = ${runId} and seq > 0`.execute(db);
    const woken = async (control: 'run' | 'cancel') =>
      (await openCalls(db, runId, -1, 10, control)).map(({ seq }) => seq);
    expect([await woken('run'), await woken('cancel')]).toEqual([[0], [0, 1]]);
  });

  it('are closed as canceled when the owner canceled what fails', async () => {
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

  describe('retries that fall due at hours when nobody may be reached', () => {
    const quiet = { from: clock(-2 * HOUR_MS), to: clock(2 * HOUR_MS), timezone: 'Etc/UTC' };

    async function retrying(quietHours: object) {
      const run = await running({ options: { delivery: { quietHours } } });
      await sql`update shards set next_seq = to_seq where run_id = ${run.runId}`.execute(db);
      await sql`update recipients set state = 'waiting', retry_at = now() - interval '1 minute'
        where run_id = ${run.runId}`.execute(db);
      await sql`insert into shard_counts values (${run.runId}, 'sms', 0, 'waiting', 2)`.execute(db);
      return run;
    }

    /** What an activity answers, if it does before it has asked the database so many things. */
    async function within<T>(
      queries: number,
      start: (activities: ReturnType<PageRig['orchestrator']>) => (input: { runId: string }) => Promise<T>,
      runId: string,
    ): Promise<T | 'nothing'> {
      let asked = 0;
      const counting = db.withPlugin({
        transformQuery: ({ node }) => {
          asked++;
          return node;
        },
        transformResult: async ({ result }) => result,
      });
      const environment = new MockActivityEnvironment();
      let found: T | 'nothing' | undefined;
      const running = environment.run(start(rig.orchestrator(counting)), { runId }).then(
        (answer) => {
          found = answer as T;
        },
        (error: unknown) => {
          if (!(error instanceof CancelledFailure)) throw error;
          found = 'nothing';
        },
      );
      await Promise.race([running, until('it has looked', () => found || asked >= queries)]);
      environment.cancel();
      await running;
      return found ?? 'nothing';
    }

    const SHARDS = { kind: 'due', shards: [{ channel: 'sms', shard: 0 }] };

    it('start no shards', async () => {
      const open = await retrying({ ...quiet, from: clock(2 * HOUR_MS), to: clock(3 * HOUR_MS) });
      expect(await within(30, ({ awaitSettled }) => awaitSettled, open.runId)).toEqual(SHARDS);
      const closed = await retrying(quiet);
      expect(await within(30, ({ awaitSettled }) => awaitSettled, closed.runId)).toBe('nothing');
      expect(await rowOf(closed.runId)).toMatchObject({ phase: 'running' });
    });

    it('wake none', async () => {
      const open = await retrying({ ...quiet, from: clock(2 * HOUR_MS), to: clock(3 * HOUR_MS) });
      expect(await within(30, ({ watchRun }) => watchRun, open.runId)).toEqual(SHARDS);
      const closed = await retrying(quiet);
      expect(await within(30, ({ watchRun }) => watchRun, closed.runId)).toBe('nothing');
    }, 60_000);

    it('are left to pages that are open, and to hours that are each recipient’s own', async () => {
      const { runId } = await retrying(quiet);
      const closed = await new ClosedChannels(db, runId).now();
      expect(closed).toEqual(['sms']);
      expect(await dueShards(db, runId, { closed })).toEqual([]);
      await sql`insert into pages (run_id, channel, shard, page, lane, fence, from_seq, to_seq, seqs)
        values (${runId}, 'sms', 0, 1, 0, 1, 0, 0, '{0}')`.execute(db);
      expect(await dueShards(db, runId, { closed })).toEqual(SHARDS.shards);
      const local = await retrying({ ...quiet, timezone: 'recipient' });
      expect(await new ClosedChannels(db, local.runId).now()).toEqual([]);
    });
  });
});
