import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { readPace, setPace, takePermits } from '../../../src/campaigns/runs/rate-limit';
import { readControl } from '../../../src/campaigns/runs/runs';
import { claimSend, lookAtSend } from '../../../src/campaigns/sends/claim-sends';
import { createDurableSends } from '../../../src/campaigns/sends/durable-sends';
import { expireStopped } from '../../../src/campaigns/stops/expire-overdue';
import { followStops } from '../../../src/campaigns/stops/follow-stops';
import { createStops, readStop, type Stops } from '../../../src/campaigns/stops/stops';
import { overdueSends } from '../../../src/campaigns/watch/run-reconciler';
import { durableSendBody } from '../../../src/contracts/durable-sends';
import { createLog } from '../../../src/log';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { countedStates, storedStates } from '../../support/ledger-states';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

const BECAUSE = { by: 'usr_1', reason: 'Wrong price' };

describeWithDatabase('a stopped workspace', (database) => {
  let db: Kysely<CampaignTables>;
  let stops: Stops;
  const log = createLog('silent');
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    stops = createStops({ db, changed: async () => undefined, log });
  });
  afterEach(() => sql`delete from workspace_stops`.execute(db));

  const lane = (runId: string, channel: 'sms' | 'voice' = 'sms') => ({ runId, channel, shard: 0, lane: 0 });
  const running = async (
    options: Record<string, unknown> = {},
    contacts = 20,
    channel: 'sms' | 'voice' = 'sms',
  ) => {
    const planted = await plantAudience(db, { contacts, options, channel });
    await sql`update runs set phase = 'running' where id = ${planted.runId}`.execute(db);
    return planted;
  };
  async function openPage(runId: string, size: number, channel: 'sms' | 'voice' = 'sms') {
    const taking = await takePage(db, lane(runId, channel), size);
    if (taking.kind !== 'page') throw new Error(`expected a page, got ${JSON.stringify(taking)}`);
    return taking.page;
  }
  const dueAgo = (runId: string, seconds: number) =>
    sql`update recipients set due_at = now() - make_interval(secs => ${seconds}) where run_id = ${runId}`.execute(
      db,
    );

  test('keeps the first stop however often it is stopped, and may be stopped anew after its end', async () => {
    const workspaceId = newId('ws');
    expect(await readStop(db, workspaceId)).toBeNull();
    const both = await Promise.all([
      stops.begin(workspaceId, BECAUSE),
      stops.begin(workspaceId, { by: 'usr_2', reason: 'Another' }),
    ]);
    expect(both[0]).toEqual(both[1]);
    expect(await stops.begin(workspaceId, { by: undefined, reason: 'Third' })).toEqual(both[0]);
    await stops.end(workspaceId);
    expect(await readStop(db, workspaceId)).toBeNull();
    // Its end is still to be told.
    const anew = await stops.begin(workspaceId, { by: 'cli_1', reason: 'Anew' });
    expect(anew).toMatchObject({ by: 'cli_1', reason: 'Anew' });
    expect(anew.since.getTime()).toBeGreaterThan(both[0].since.getTime());
    expect(await stops.read(newId('ws'))).toBeNull();
  });

  test('opens no page, and a page under way stops with its next chunk, while another workspace goes on', async () => {
    const [ours, theirs] = [await running(), await running()];
    const page = await openPage(ours.runId, 10);
    await offerChunk(db, page, 5);
    await stops.begin(ours.workspaceId, BECAUSE);
    expect(await recordChunk(db, page, [])).toBe('pause');
    expect(await takePage(db, lane(ours.runId), 10)).toEqual({ kind: 'stopped', control: 'pause' });
    expect((await readPace(db, ours.runId)).control).toBe('pause');
    expect((await takePage(db, lane(theirs.runId), 10)).kind).toBe('page');
    await stops.end(ours.workspaceId);
    const again = await openPage(ours.runId, 10);
    expect([again.resolved, again.size]).toEqual([5, 10]);
  });

  test('leaves what the owners of its runs want as it is', async () => {
    const { runId, workspaceId } = await running();
    await sql`update runs set control = 'pause' where id = ${runId}`.execute(db);
    await stops.begin(workspaceId, BECAUSE);
    await sql`update runs set control = 'cancel' where id = ${runId}`.execute(db);
    expect(await readControl(db, runId)).toBe('cancel');
    await sql`update runs set control = 'pause' where id = ${runId}`.execute(db);
    await stops.end(workspaceId);
    expect(await readControl(db, runId)).toBe('pause');
  });

  test('saves up no permits of a pace', async () => {
    const { runId, workspaceId } = await running();
    await setPace(db, runId, 100);
    await stops.begin(workspaceId, BECAUSE);
    await sql`update run_paces set next_at = now() - interval '1 hour' where run_id = ${runId}`.execute(db);
    await stops.end(workspaceId);
    let granted = 0;
    for (let i = 0; i < 10; i++) granted += (await takePermits(db, runId, { least: 0, most: 1_000 })).granted;
    expect(granted).toBeLessThanOrEqual(200);
  });

  test('ends recipients whose time is over, but not those that may be with the service', async () => {
    const { runId, workspaceId } = await running({ delivery: { expireAfterSeconds: 60 } });
    const page = await openPage(runId, 10);
    await offerChunk(db, page, 4);
    await stops.begin(workspaceId, BECAUSE);
    await dueAgo(runId, 30);
    await expireStopped(db, workspaceId, () => true);
    expect(new Set(await storedStates(db, runId))).toEqual(new Set(['pending']));
    await dueAgo(runId, 61);
    await expireStopped(db, workspaceId, () => true);
    expect(await storedStates(db, runId)).toEqual([
      ...Array(4).fill('pending'),
      ...Array(16).fill('expired'),
    ]);
    expect(await countedStates(db, runId)).toEqual({ expired: 16 });
    expect((await readCounts(db, runId)).sms).toMatchObject({
      total: 20,
      sending: 4,
      expired: 16,
      pending: 0,
    });
    const codes = await db
      .selectFrom('recipients')
      .select('code')
      .where('run_id', '=', runId)
      .distinct()
      .execute();
    expect(codes.map(({ code }) => code).sort()).toEqual(['expired', null]);

    // The page goes on with those that it had offered, and with no other.
    await stops.end(workspaceId);
    await recordChunk(db, page, []);
    expect(await offerChunk(db, page, 10)).toEqual([]);
    await recordChunk(db, page, []);
    expect((await readCounts(db, runId)).sms).toMatchObject({ accepted: 4, expired: 16, sending: 0 });
    expect(await takePage(db, lane(runId), 10)).toEqual({ kind: 'idle', until: undefined });
  });

  test('ends those that wait for another try, and calls that are not placed', async () => {
    const { runId, workspaceId } = await running({ delivery: { expireAfterSeconds: 60 } }, 3, 'voice');
    await openPage(runId, 2, 'voice').then(async (page) => {
      await offerChunk(db, page, 2);
      await recordChunk(db, page, []);
    });
    await sql`update recipients set state = 'sending' where run_id = ${runId} and seq = 0`.execute(db);
    const sms = await running({ schedule: { endAt: new Date(Date.now() - 1_000).toISOString() } }, 2);
    await sql`update shards set next_seq = to_seq where run_id = ${sms.runId}`.execute(db);
    await sql`
      update recipients set state = 'waiting', retry_at = now() + interval '1 hour'
      where run_id = ${sms.runId} and seq = 0`.execute(db);
    await sql`update runs set workspace_id = ${workspaceId} where id = ${sms.runId}`.execute(db);
    await dueAgo(runId, 61);
    await stops.begin(workspaceId, BECAUSE);
    await expireStopped(db, workspaceId, () => true);
    expect(await storedStates(db, runId)).toEqual(['sending', 'expired', 'expired']);
    // The second one was taken on and recorded: the service has it.
    expect(await storedStates(db, sms.runId)).toEqual(['expired', 'pending']);
  });

  test('ends those of a later stage with the run, and not those that wait for an earlier channel', async () => {
    const endAt = new Date(Date.now() - 1_000).toISOString();
    const wait = async (options: Record<string, unknown>) => {
      const { runId, workspaceId } = await running(options, 3);
      await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
      await sql`
        update recipients set state = 'waiting', retry_at = null,
          code = case when seq = 1 then 'earlier_channel' else 'later_stage' end
        where run_id = ${runId}`.execute(db);
      await dueAgo(runId, 61);
      await stops.begin(workspaceId, BECAUSE);
      await expireStopped(db, workspaceId, () => true);
      return storedStates(db, runId);
    };
    expect(await wait({ schedule: { endAt } })).toEqual(['expired', 'waiting', 'expired']);
    // Their time begins with their stage.
    const expireAfter = { delivery: { expireAfterSeconds: 60 } };
    expect(await wait(expireAfter)).toEqual(['waiting', 'waiting', 'waiting']);
  });

  test('leaves unknown who waits for another message because the first is in doubt', async () => {
    const { runId, workspaceId } = await running({ delivery: { expireAfterSeconds: 60 } }, 3);
    await sql`update shards set next_seq = to_seq where run_id = ${runId}`.execute(db);
    await sql`
      update recipients set state = 'waiting', retry_at = now(), attempt = 1,
        code = case when seq = 1 then 'answer_lost' end, doubts = case when seq = 0 then '{0}'::smallint[] end
      where run_id = ${runId}`.execute(db);
    await dueAgo(runId, 61);
    await stops.begin(workspaceId, BECAUSE);
    await expireStopped(db, workspaceId, () => true);
    expect(await storedStates(db, runId)).toEqual(['unknown', 'unknown', 'expired']);
  });

  test('leaves recipients of another workspace to their pages', async () => {
    const { runId } = await running({ delivery: { expireAfterSeconds: 60 } });
    await dueAgo(runId, 61);
    await expireStopped(db, newId('ws'), () => true);
    expect(new Set(await storedStates(db, runId))).toEqual(new Set(['pending']));
  });

  test('lets durable sends wait until they are woken, or their time is over', async () => {
    const workspaceId = newId('ws');
    const sends = createDurableSends({
      db,
      launcher: { launchSend: async () => undefined, wakeSend: async () => undefined },
      log,
    });
    const body = (more: object = {}) =>
      durableSendBody.parse({
        ...{ channel: 'sms', uid: newId('uid'), to: '+12025550190', from: '12345' },
        ...{ 'template-id': 'tpl_1', params: {}, ...more },
      });
    await stops.begin(workspaceId, BECAUSE);
    const { id, stopped } = await sends.create(workspaceId, newId('snd'), body());
    expect(stopped).toMatchObject(BECAUSE);
    expect((await lookAtSend(db, id)).kind).toBe('wait');
    expect(await claimSend(db, id, true)).toBeUndefined();
    const late = await sends.create(
      workspaceId,
      newId('snd'),
      body({ expiresAt: new Date(Date.now() + 900).toISOString() }),
    );
    const turn = await lookAtSend(db, late.id);
    expect(turn).toMatchObject({ kind: 'wait' });
    expect((turn as { waitMs: number }).waitMs).toBeLessThan(1_000);
    await until('it is expired', async () => (await lookAtSend(db, late.id)).kind === 'ended');
    expect((await sends.read(workspaceId, late.id)).state).toBe('expired');
    // The sweep leaves room for those of other workspaces.
    await sql`update durable_sends set due_at = now() - interval '1 hour' where id = ${id}`.execute(db);
    expect(await overdueSends(db)).toEqual([]);
    await stops.end(workspaceId);
    expect((await lookAtSend(db, id)).kind).toBe('act');
    expect((await overdueSends(db)).map(({ sendId }) => sendId)).toEqual([id]);
  });

  test('has its end told to what sleeps because of it, also when a process is killed in between', async () => {
    const [goesOn, paused] = [await running(), await running()];
    await sql`update runs set workspace_id = ${goesOn.workspaceId} where id = ${paused.runId}`.execute(db);
    await sql`update runs set control = 'pause' where id = ${paused.runId}`.execute(db);
    const [hourToCome, planned] = [await running(), await running()];
    for (const { runId } of [hourToCome, planned]) {
      await sql`update runs set workspace_id = ${goesOn.workspaceId}, phase = 'planning' where id = ${runId}`.execute(
        db,
      );
    }
    await sql`update campaigns set stage = 'scheduled' where id = ${hourToCome.campaignId}`.execute(db);
    const elsewhere = await running();
    await stops.begin(goesOn.workspaceId, BECAUSE);
    await stops.begin(elsewhere.workspaceId, BECAUSE);
    const told: string[] = [];
    let fails = true;
    const followed = followStops(
      db,
      {
        controlChanged: async ({ runId }) => {
          if (fails) throw new Error('killed');
          told.push(runId);
        },
      },
      log,
    );
    await followed.tick();
    await stops.end(goesOn.workspaceId);
    await followed.tick();
    await followed.stop();
    const rows = () =>
      db.selectFrom('workspace_stops').select('workspace_id').orderBy('workspace_id').execute();
    expect(await rows()).toHaveLength(2);
    fails = false;
    const next = followStops(db, { controlChanged: async ({ runId }) => void told.push(runId) }, log);
    await next.tick();
    await until('the end is told', async () => (await rows()).length === 1);
    expect(told.sort()).toEqual([goesOn.runId, planned.runId].sort());
    expect(await rows()).toEqual([{ workspace_id: elsewhere.workspaceId }]);
    await next.stop();
  });
});
