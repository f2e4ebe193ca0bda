import { type Kysely, sql } from 'kysely';
import { changeCampaign } from '../../../src/campaigns/actions/campaign-actions';
import { cancelUnsent } from '../../../src/campaigns/actions/cancel-run';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { readContactStage } from '../../../src/campaigns/release/release-view';
import { openFallbackTurns } from '../../../src/campaigns/runs/fallback-turns';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { closeRun } from '../../../src/campaigns/runs/run-end';
import { controlLiveRuns } from '../../../src/campaigns/runs/run-rows';
import { LIMITS } from '../../../src/domain/limits';
import { wrongCodeCounts } from '../../support/ledger-states';
import { StagedRun } from '../../support/staged-run';
import { describeWithDatabase } from '../../support/storage';

const STAGES = [{ recipients: 3, waitSeconds: 60 }, { recipients: 5 }];

describeWithDatabase('the steps of a release in stages', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  test('no recipient is taken on before a stage begins, and then its own only', async () => {
    const run = await StagedRun.plant(db, { stages: STAGES });
    expect(await run.send()).toEqual([]);
    const { shards } = await run.step();
    expect(shards).toEqual([{ channel: 'sms', shard: 0 }]);
    const first = await run.send();
    expect(first).toHaveLength(3);
    expect(first.sort()).toEqual(await run.opened());
    expect((await readCounts(db, run.runId)).sms).toMatchObject({ total: 20, sent: 3, waiting: 17 });
    const step = await run.step();
    expect(step.shards).toEqual([]);
    expect(step.waitMs).toBeGreaterThan(59_000);
    expect(await run.stage()).toMatchObject({ stage: 1, sent: true, nextInSeconds: 60 });
    await run.pass(61);
    expect((await run.step()).shards).toHaveLength(1);
    expect(await run.send()).toHaveLength(5);
    expect(await run.step()).toEqual({ shards: [] });
    expect(await run.stage()).toMatchObject({ stage: 2, sent: true, nextInSeconds: null });
    expect(await wrongCodeCounts(db, run.runId)).toEqual([]);
  });

  test('the order is random, another one for each run, and the same in each attempt', async () => {
    const run = await StagedRun.plant(db, { stages: [{ recipients: 6 }] }, { contacts: 40 });
    await run.step();
    const drawn = await run.opened();
    expect(drawn).toHaveLength(6);
    // As if the attempt had died before it wrote down what it had drawn.
    await sql`delete from run_stages where run_id = ${run.runId}`.execute(db);
    await sql`delete from run_releases where run_id = ${run.runId}`.execute(db);
    await run.step();
    expect(await run.opened()).toEqual(drawn);
    const places = drawn.map((id) => Number(id.slice(-7)));
    expect(places).not.toEqual([1, 2, 3, 4, 5, 6]);
    const other = await StagedRun.plant(db, { stages: [{ recipients: 6 }] }, { contacts: 40 });
    await other.step();
    expect((await other.opened()).map((id) => Number(id.slice(-7)))).not.toEqual(places);
  });

  test('killed at any moment, a stage goes on where it was, and none goes twice', async () => {
    for (let kill = 0; kill < 6; kill++) {
      const run = await StagedRun.plant(db, { stages: [{ recipients: 4, waitSeconds: 0 }] }, { contacts: 9 });
      let steps = 0;
      const dying = run.step({
        onStep: () => {
          if (steps++ === kill) throw new Error('killed');
        },
      });
      await dying.catch(() => undefined);
      await Promise.all([run.step(), run.step(), run.step()]);
      expect([kill, (await run.send()).length]).toEqual([kill, 4]);
      await Promise.all([run.step(), run.step()]);
      expect([kill, (await run.send()).length]).toEqual([kill, 5]);
      expect((await readCounts(db, run.runId)).sms).toMatchObject({ total: 9, sent: 9, waiting: 0 });
      expect(await wrongCodeCounts(db, run.runId)).toEqual([]);
    }
  });

  test('channels of a contact go together, and a number counts contacts', async () => {
    const run = await StagedRun.plant(db, { stages: [{ percent: 30 }] }, { channels: ['sms', 'email'] });
    await sql`
      delete from recipients where run_id = ${run.runId} and channel = 'email' and seq < 5`.execute(db);
    await run.step();
    const sms = await run.opened('sms');
    expect(sms).toHaveLength(6);
    const email = await run.opened('email');
    expect(sms).toEqual(expect.arrayContaining(email));
    expect(email.length).toBeGreaterThan(0);
  });

  test('with fallback a later channel waits for its turn within its stage', async () => {
    const options = { strategy: 'fallback' };
    const stages = [{ recipients: 4, waitSeconds: 0 }];
    const run = await StagedRun.plant(db, { stages }, { contacts: 9, channels: ['email', 'sms'], options });
    const turns = () =>
      openFallbackTurns(db, {
        runId: run.runId,
        channels: ['email', 'sms'],
        afterMs: 60_000,
        tellsMore: true,
      });
    await turns();
    expect(await run.opened('sms')).toEqual([]);
    await run.step();
    expect(await run.opened('sms')).toEqual(await run.opened('email'));
    expect(await run.send('sms')).toEqual([]);
    const first = await run.send('email', 'undelivered');
    expect(await run.step()).toMatchObject({ shards: [], waitMs: expect.any(Number) });
    await turns();
    expect((await run.send('sms')).sort()).toEqual(first.sort());
    expect((await run.step()).shards).toHaveLength(2);
    expect(await run.send('email')).toHaveLength(5);
    expect(await wrongCodeCounts(db, run.runId)).toEqual([]);
  });

  describe('a stage is held', () => {
    const plant = (more: Parameters<typeof StagedRun.plant>[2] = {}) =>
      StagedRun.plant(db, { stages: [{ recipients: 3, waitSeconds: 60 }] }, { contacts: 9, ...more });
    const sent = async (run: StagedRun, context: Parameters<StagedRun['step']>[0] = {}) => {
      const step = await run.step(context);
      return { sent: (await run.stage())?.sent, waitMs: step.waitMs };
    };

    test('by what the service has not handed over, unless it tells no more', async () => {
      const run = await plant();
      await run.step();
      await run.send('sms', 'accepted');
      await run.pass(4_000);
      expect(await sent(run)).toEqual({ sent: false, waitMs: undefined });
      expect((await sent(run, { tellsMore: false })).sent).toBe(true);
    });

    test('by recipients that are due, and on a closed channel for an hour at most', async () => {
      const run = await plant();
      await run.step();
      await run.send('sms', 'sent', 2);
      expect(await sent(run)).toEqual({ sent: false, waitMs: undefined });
      const night = await sent(run, { closed: ['sms'] });
      expect(night.sent).toBe(false);
      expect(night.waitMs).toBeLessThanOrEqual(3_600_000);
      await run.pass(3_601);
      expect((await sent(run)).sent).toBe(false);
      expect((await sent(run, { closed: ['sms'] })).sent).toBe(true);
    });

    test('by a retry of what was never handed over for an hour, and not by one of what was', async () => {
      const run = await plant();
      await run.step();
      await run.send();
      const retry = (attempt: number) =>
        sql`
          with moved as (
            update recipients set state = 'waiting', retry_at = now() + interval '1 day', attempt = ${attempt}
            where run_id = ${run.runId} and seq = (
              select min(seq) from recipients where run_id = ${run.runId} and state = 'sent') returning 1
          )
          update shard_counts set count = count + case state when 'waiting' then 1 else -1 end
          where run_id = ${run.runId} and state in ('waiting', 'sent')`.execute(db);
      await retry(0);
      expect((await sent(run)).sent).toBe(false);
      await sql`update recipients set attempt = 1 where run_id = ${run.runId} and retry_at > now()`.execute(
        db,
      );
      expect((await sent(run)).sent).toBe(true);
    });

    test('by a call while it rings, and not by one that was answered or is a further one', async () => {
      const run = await plant({ channels: ['voice'] });
      await run.step();
      await sql`
        with called as (
          update recipients set state = 'sending', attempt = 1
          where run_id = ${run.runId} and code is null and state = 'waiting' returning seq
        ), calls as (
          insert into calls (run_id, seq, attempt, data, live) select ${run.runId}, seq, 1, '{}', true from called
        ), counted as (
          insert into shard_counts (run_id, channel, shard, state, count) values (${run.runId}, 'voice', 0, 'sending', 3)
        )
        update shard_counts set count = count - 3 where run_id = ${run.runId} and state = 'waiting'`.execute(
        db,
      );
      await run.pass(4_000);
      expect((await sent(run)).sent).toBe(false);
      await sql`
        update calls set answered_at = now() where run_id = ${run.runId}
          and seq < (select max(seq) from calls where run_id = ${run.runId})`.execute(db);
      expect((await sent(run)).sent).toBe(false);
      await sql`update calls set answered_at = now() where run_id = ${run.runId}`.execute(db);
      expect((await sent(run)).sent).toBe(true);
    });

    test('for an hour by a call that was asked for, of which nothing was heard', async () => {
      const run = await plant({ channels: ['voice'] });
      await run.step();
      await sql`
        with called as (
          update recipients set state = 'sending', attempt = 1
          where run_id = ${run.runId} and code is null and state = 'waiting' returning seq
        ), calls as (
          insert into calls (run_id, seq, attempt, data, live, answered_at)
          select ${run.runId}, seq, 1, '{}', true, case when seq > (select min(seq) from called) then now() end from called
        ), counted as (
          insert into shard_counts (run_id, channel, shard, state, count) values (${run.runId}, 'voice', 0, 'sending', 3)
        )
        update shard_counts set count = count - 3 where run_id = ${run.runId} and state = 'waiting'`.execute(
        db,
      );
      // Its answer was lost, and it is not asked for again while its hours are closed.
      const held = await sent(run);
      expect(held.sent).toBe(false);
      expect(held.waitMs).toBeGreaterThan(LIMITS.stageHeldMs - 60_000);
      expect(held.waitMs).toBeLessThanOrEqual(LIMITS.stageHeldMs);
      await sql`
        update calls set placed_at = placed_at - interval '61 minutes', heard_at = now()
        where run_id = ${run.runId} and answered_at is null`.execute(db);
      // The service has it, and it waits there.
      expect((await sent(run)).sent).toBe(false);
      await sql`update calls set heard_at = null where run_id = ${run.runId}`.execute(db);
      expect((await sent(run)).sent).toBe(true);
    });
  });

  describe('gates', () => {
    const GATE = { metric: 'failed' as const, above: 0.4, minSample: 3 };
    const resume = (run: StagedRun) =>
      db.transaction().execute((tx) => controlLiveRuns(tx, run.planted.campaignId, 'run', ['pause']));

    test('close after the wait, and keep the next stage back', async () => {
      const run = await StagedRun.plant(db, { stages: STAGES, gates: [GATE] });
      await run.step();
      await run.send('sms', 'sent');
      await run.step();
      // What fails during the wait is judged after it.
      await sql`
        with failed as (
          update recipients set state = 'failed' where run_id = ${run.runId} and state = 'sent' returning 1
        )
        update shard_counts set state = 'failed' where run_id = ${run.runId} and state = 'sent'`.execute(db);
      expect((await run.step()).isClosed).toBeUndefined();
      await run.pass(61);
      expect(await run.step()).toEqual({ shards: [], isClosed: true });
      expect(await run.control()).toEqual({
        control: 'pause',
        reason: { code: 'gate', metric: 'failed', value: 1, above: 0.4, sample: 3 },
      });
      expect(await run.step()).toEqual({ shards: [] });
      expect(await run.opened()).toHaveLength(3);
      await resume(run);
      expect(await run.control()).toEqual({ control: 'run', reason: null });
      expect((await run.step()).shards).toHaveLength(1);
      expect(await run.stage()).toMatchObject({ stage: 2, closed: false });
      // Not while the second is being sent, though too many have failed.
      expect(await run.send('sms', 'failed')).toHaveLength(5);
      expect((await run.step()).isClosed).toBeUndefined();
      expect(await run.stage()).toMatchObject({ stage: 2, sent: true });
    });

    test.each(['failed', 'undelivered', 'rejected', 'unknown', 'suppressed'] as const)(
      'close at once for %s while a stage is being sent',
      async (metric) => {
        const gate = { metric, above: 0.4, minSample: 5 };
        const run = await StagedRun.plant(db, {
          stages: [{ recipients: 10, waitSeconds: 60 }],
          gates: [gate],
        });
        await run.step();
        await run.send('sms', metric, 4);
        expect((await run.step()).isClosed).toBeUndefined();
        await run.send('sms', metric, 1);
        expect((await run.step()).isClosed).toBe(true);
        const { reason } = await run.control();
        const sample = metric === 'suppressed' ? 10 : 5;
        expect(reason).toEqual({ code: 'gate', metric, value: 5 / sample, above: 0.4, sample });
        expect(await run.send()).toEqual([]);
        await resume(run);
        expect(await run.send()).toHaveLength(5);
        await run.step();
        await run.pass(61);
        // That stage's gate has been gone past.
        expect((await run.step()).shards).toHaveLength(1);
        expect(await run.stage()).toMatchObject({ stage: 2 });
      },
    );

    test('pass a sample that is too small, and do not judge the last stage', async () => {
      const gates = [{ ...GATE, minSample: 4 }];
      const run = await StagedRun.plant(db, { stages: [{ recipients: 3, waitSeconds: 0 }], gates });
      await run.step();
      await run.send('sms', 'failed');
      expect((await run.step()).shards).toHaveLength(1);
      expect(await run.send('sms', 'failed')).toHaveLength(17);
      await run.step();
      expect(await run.control()).toEqual({ control: 'run', reason: null });
      const { rows } = await sql<{ judged: object }>`
        select judged from run_stages where run_id = ${run.runId} order by stage`.execute(db);
      expect(rows.map(({ judged }) => judged)).toEqual([
        [expect.objectContaining({ stage: 1, metric: 'failed', value: 1, sample: 3, passed: true })],
        [],
      ]);
    });

    test('are passed also by the resume of a run that has failed at one', async () => {
      const run = await StagedRun.plant(db, { stages: STAGES, gates: [GATE] });
      await run.step();
      await run.send('sms', 'failed');
      expect((await run.step()).isClosed).toBe(true);
      // As when the service refused the account as it was to hold the messages.
      await closeRun(db, run.runId, 'failed', 'invalid_client: refused');
      const { workspaceId, campaignId } = run.planted;
      expect((await changeCampaign(db, workspaceId, campaignId, 'resume')).launch).toMatchObject({
        launch: 2,
      });
      expect(await run.stage()).toMatchObject({ stage: 1, closed: false });
      await run.step();
      expect(await run.stage()).toMatchObject({ stage: 1, sent: true });
    });

    test('cancel where the campaign says so', async () => {
      const release = { stages: STAGES, gates: [GATE], onGate: 'cancel' as const };
      const run = await StagedRun.plant(db, release);
      await run.step();
      await run.send('sms', 'failed');
      expect((await run.step()).isClosed).toBe(true);
      expect(await run.control()).toMatchObject({ control: 'cancel', reason: { code: 'gate' } });
      await cancelUnsent(db, run.runId);
      expect((await readCounts(db, run.runId)).sms).toMatchObject({ failed: 3, canceled: 17 });
    });
  });

  test('takes no step in a pause, and the wait goes on', async () => {
    const run = await StagedRun.plant(db, { stages: STAGES });
    await run.step();
    await run.send();
    await run.step();
    await sql`update runs set control = 'pause' where id = ${run.runId}`.execute(db);
    await run.pass(61);
    expect(await run.step()).toEqual({ shards: [] });
    expect(await run.stage()).toMatchObject({ stage: 1 });
    await sql`update runs set control = 'run' where id = ${run.runId}`.execute(db);
    expect((await run.step()).shards).toHaveLength(1);
  });

  test('recipients with an hour of their own wait for it within their stage', async () => {
    const day = 86_400_000;
    const startAt = new Date(Date.now() + 2 * day).toISOString();
    const options = { schedule: { startAt, recipientLocal: true, timezone: 'UTC' } };
    const run = await StagedRun.plant(db, { stages: STAGES }, { options });
    const { shards, waitMs } = await run.step();
    expect(shards).toHaveLength(1);
    expect(waitMs).toBeLessThanOrEqual(3_600_000);
    expect(await run.send()).toEqual([]);
    const { rows } = await sql<{ waiting: number; code: string | null }>`
      select count(*)::int as waiting, min(code) as code from recipients
      where run_id = ${run.runId} and retry_at > now() + interval '1 day' and due_at = retry_at`.execute(db);
    expect(rows).toEqual([{ waiting: 3, code: null }]);
  });

  test('a contact’s stage is known, whether it has begun, and what it waits for', async () => {
    const gates = [{ metric: 'failed' as const, above: 0.5, minSample: 1 }];
    const run = await StagedRun.plant(db, { stages: STAGES, gates });
    const of = (contactId: string, workspaceId = run.planted.workspaceId) =>
      readContactStage(db, { workspaceId, runId: run.runId, contactId });
    expect(await of(`${run.planted.listId}-0000001`)).toBeUndefined();
    await run.step();
    const { rows } = await sql<{ id: string }>`
      select contact_id as id from recipients where run_id = ${run.runId}`.execute(db);
    const stages = await Promise.all(rows.map(async ({ id }) => ({ id, ...(await of(id)) })));
    expect([1, 2, 3].map((stage) => stages.filter((one) => one.stage === stage).length)).toEqual([3, 5, 12]);
    const opened = await run.opened();
    for (const one of stages) expect([one.id, one.hasBegun]).toEqual([one.id, opened.includes(one.id)]);
    const next = stages.find(({ stage }) => stage === 2)?.id ?? '';
    expect(await of(next)).toMatchObject({ of: 3, hasBegun: false, beginsAt: null, gate: null });
    await run.send();
    await run.step();
    expect((await of(next))?.beginsAt).toBeInstanceOf(Date);
    await sql`
      update shard_counts set state = 'failed' where run_id = ${run.runId} and state = 'sent'`.execute(db);
    await run.pass(61);
    await run.step();
    expect(await of(next)).toMatchObject({
      beginsAt: null,
      gate: { closedAt: expect.any(Date), reason: { metric: 'failed' } },
    });
    expect(await of(next, 'wsp_other')).toBeUndefined();
  });
});
