/** Proves which actions each phase of a campaign allows, and what they do. */

import { sql } from 'kysely';
import { withClockAhead } from '../support/clock-ahead';
import { describeWithDatabase } from '../support/storage';
import { campaignsRig, IN_AN_HOUR } from './campaigns-rig';

describeWithDatabase('controls of a campaign over HTTP', (database) => {
  const {
    launched,
    told,
    create,
    db,
    newCampaign,
    detail,
    act,
    call,
    setRun,
    findings,
    holdUntil,
    silenceUntil,
  } = campaignsRig(database);

  test('a draft waits, can be edited and is started once', async () => {
    const id = await newCampaign({ start: false });
    expect(await detail(id)).toMatchObject({ phase: 'draft', status: 'paused', workflowId: null });
    expect(launched).toEqual([]);

    const edited = await create({ campaignId: id, name: 'Summer' });
    expect([edited.status, edited.body.data]).toMatchObject([200, { id, name: 'Summer', phase: 'draft' }]);
    expect((await act(id, 'pause')).body.code).toBe('illegal_transition');

    expect((await act(id, 'start')).body.data).toMatchObject({ phase: 'planning', status: 'active' });
    expect((await act(id, 'start')).status).toBe(200);
    expect(launched).toHaveLength(1);
    const late = await create({ campaignId: id });
    expect([late.status, late.body.code, late.body.phase]).toEqual([409, 'campaign_started', 'planning']);
    expect((await create({ campaignId: 'cmp_none' })).status).toBe(404);
  });

  test('a draft whose end is over is not started, because no recipient would be sent to', async () => {
    const schedule = { endAt: IN_AN_HOUR() };
    const id = await newCampaign({ start: false, schedule });
    const past = JSON.stringify(new Date(Date.now() - 1_000));
    await sql`update campaigns set options = jsonb_set(options, '{schedule,endAt}', ${past}::jsonb)
      where id = ${id}`.execute(db());
    const { status, body } = await act(id, 'start');
    expect([status, body.code, body.phase]).toEqual([409, 'illegal_transition', 'draft']);
    expect(launched).toEqual([]);
    await create({ campaignId: id, schedule });
    expect((await act(id, 'start')).body.data.phase).toBe('planning');
  });

  test('a campaign that is canceled before it began has an end and no start', async () => {
    for (const more of [{ start: false }, { schedule: { startAt: IN_AN_HOUR() } }]) {
      const id = await newCampaign(more);
      await act(id, 'cancel');
      const { phase, startedAt, finishedAt } = await detail(id);
      expect({ phase, startedAt }).toEqual({ phase: 'canceled', startedAt: null });
      expect(finishedAt).not.toBeNull();
      const { data: runs } = (await call('GET', `/api/campaign/${id}/runs`)).body;
      expect(runs).toMatchObject([{ phase: 'canceled', startedAt: null, finishedAt }]);
    }
  });

  test('an edit can start a draft', async () => {
    const id = await newCampaign({ start: false });
    expect((await create({ campaignId: id, start: true })).body.data.phase).toBe('planning');
    expect(launched).toMatchObject([{ campaignId: id }]);
  });

  test('a start time in the future schedules; an edit moves it; starting goes ahead now', async () => {
    const startAt = IN_AN_HOUR();
    const id = await newCampaign({ schedule: { startAt } });
    expect(launched).toMatchObject([{ campaignId: id, startAt: new Date(startAt) }]);
    expect(await detail(id)).toMatchObject({ phase: 'scheduled', status: 'active', startedAt: null });

    await create({ campaignId: id, schedule: { startAt } });
    expect(launched).toHaveLength(2);
    expect(launched[1]?.runId).not.toBe(launched[0]?.runId);

    expect((await act(id, 'start')).body.data.phase).toBe('planning');
    expect(launched[2]).toMatchObject({ campaignId: id, startAt: undefined });
    expect((await detail(id)).schedule).toEqual({});
    const runs = await db()
      .selectFrom('runs')
      .select(['number', 'phase', 'control'])
      .where('campaign_id', '=', id)
      .orderBy('number')
      .execute();
    expect(runs).toEqual([
      { number: 1, phase: 'canceled', control: 'cancel' },
      { number: 2, phase: 'canceled', control: 'cancel' },
      { number: 3, phase: 'planning', control: 'run' },
    ]);
  });

  test('a start time in the past starts now, and one too far ahead is refused', async () => {
    const past = await create({ schedule: { startAt: '2020-01-01T00:00:00+02:00' } });
    expect(past.body.data.phase).toBe('planning');
    const far = await create({
      schedule: { startAt: new Date(Date.now() + 400 * 86_400_000).toISOString() },
    });
    expect(findings(far)).toEqual(['schedule.startAt too_far_ahead']);
  });

  test('a running campaign is paused, resumed and canceled, and its workflow signalled each time', async () => {
    const id = await newCampaign();
    await setRun(id, 'running');
    const runId = launched[0]?.runId;
    expect((await act(id, 'pause')).body.data).toMatchObject({ phase: 'paused', status: 'paused' });
    expect((await act(id, 'pause', {})).status).toBe(200);
    expect((await act(id, 'start')).body.code).toBe('illegal_transition');
    expect((await act(id, 'resume')).body.data.phase).toBe('running');
    expect((await act(id, 'cancel')).status).toBe(200);
    const refused = await act(id, 'resume');
    expect([refused.status, refused.body.code]).toEqual([409, 'illegal_transition']);
    expect(refused.body.message).toContain('is canceled');
    expect(refused.body.phase).toBe((await detail(id)).phase);
    await setRun(id, 'canceled');
    expect((await act(id, 'cancel')).body.data).toMatchObject({ phase: 'canceled', status: 'completed' });
    expect((await act(id, 'pause')).body.message).toContain('canceled');
    expect(told).toEqual([runId, runId, runId, runId]);
    expect((await act('cmp_none', 'pause')).status).toBe(404);
    expect((await act(id, 'cancel', { force: true })).status).toBe(422);
  });

  test('a pause is answered within a second, and the run signalled, while the service does not answer', async () => {
    const id = await newCampaign();
    await setRun(id, 'running');
    let answer = () => {};
    holdUntil(
      new Promise((done) => {
        answer = done;
      }),
    );
    const begunAt = performance.now();
    expect((await act(id, 'pause')).body.data).toMatchObject({ phase: 'paused' });
    expect(performance.now() - begunAt).toBeLessThan(1_000);
    expect(told).toEqual([launched[0]?.runId]);
    answer();
  });

  test('what is stored is answered within a second while Temporal is silent', async () => {
    const draft = await newCampaign({ start: false });
    const running = await newCampaign();
    await setRun(running, 'running');
    let answer = () => {};
    silenceUntil(
      new Promise((done) => {
        answer = done;
      }),
    );
    const within = async (work: Promise<{ status: number }>) => {
      const begunAt = performance.now();
      const { status } = await work;
      return { status, isQuick: performance.now() - begunAt < 1_000 };
    };
    expect(await within(create())).toEqual({ status: 201, isQuick: true });
    expect(await within(act(draft, 'start'))).toEqual({ status: 200, isQuick: true });
    const pace = { delivery: { ratePerSecond: 5 } };
    expect(await within(call('PATCH', `/api/campaign/${running}`, pace))).toEqual({
      status: 200,
      isQuick: true,
    });
    answer();
  }, 10_000);

  test('a scheduled campaign waits for its hour by the database, also where the clock of this machine is ahead', async () => {
    const startAt = new Date(Date.now() + 60_000).toISOString();
    const id = await withClockAhead(300_000, () => newCampaign({ schedule: { startAt } }));
    expect((await detail(id)).phase).toBe('scheduled');
    expect(launched[0]?.startAt?.toISOString()).toBe(startAt);
  });

  test('a scheduled campaign can be paused and resumed before its hour', async () => {
    const id = await newCampaign({ schedule: { startAt: IN_AN_HOUR() } });
    const control = async () =>
      (
        await db()
          .selectFrom('runs')
          .select('control')
          .where('campaign_id', '=', id)
          .executeTakeFirstOrThrow()
      ).control;
    await act(id, 'pause');
    expect(await control()).toBe('pause');
    await act(id, 'resume');
    expect(await control()).toBe('run');
    expect(told).toEqual([]);
  });

  test.each([
    ['an hour', 'another hour', () => ({ startAt: IN_AN_HOUR() }), 'scheduled'],
    ['an hour', 'occurrences', () => ({ cron: '0 9 * * *' }), 'scheduled'],
    ['an hour', 'neither', () => undefined, 'planning'],
    ['occurrences', 'an hour', () => ({ startAt: IN_AN_HOUR() }), 'scheduled'],
    ['occurrences', 'others', () => ({ cron: '0 9 * * *' }), 'scheduled'],
    ['occurrences', 'neither', () => undefined, 'planning'],
  ])(
    'what was paused with %s stays so when it is edited to %s, until it is resumed',
    async (was, _, to, then) => {
      const before = was === 'an hour' ? { startAt: IN_AN_HOUR() } : { cron: '* * * * *' };
      const id = await newCampaign({ schedule: before });
      await act(id, 'pause');
      const edited = await create({ campaignId: id, schedule: to() });
      expect([edited.status, edited.body.data.phase]).toEqual([200, 'paused']);
      expect((await detail(id)).nextRunAt).toBeNull();
      const live = await db()
        .selectFrom('runs')
        .select('control')
        .where('campaign_id', '=', id)
        .where('phase', '=', 'planning')
        .execute();
      expect(live).toEqual(JSON.stringify(to())?.includes('cron') ? [] : [{ control: 'pause' }]);
      expect((await act(id, 'resume')).body.data.phase).toBe(then);
    },
  );

  test('an edit that says start sends what was paused, and one that says not to leaves a draft', async () => {
    const paused = async () => {
      const id = await newCampaign({ schedule: { startAt: IN_AN_HOUR() } });
      await act(id, 'pause');
      return id;
    };
    const started = await create({ campaignId: await paused(), start: true });
    expect(started.body.data.phase).toBe('planning');
    const draft = await create({ campaignId: await paused(), start: false });
    expect(draft.body.data.phase).toBe('draft');
  });

  test.each([
    ['a draft', { start: false }],
    ['a scheduled campaign', { schedule: { startAt: IN_AN_HOUR() } }],
  ])('%s is canceled at once', async (_, more) => {
    const id = await newCampaign(more);
    expect((await act(id, 'cancel')).body.data).toMatchObject({ phase: 'canceled', status: 'completed' });
    expect((await act(id, 'cancel')).status).toBe(200);
    expect((await act(id, 'start')).status).toBe(409);
    expect((await detail(id)).finishedAt).not.toBeNull();
  });

  const runOf = (id: string) =>
    db().selectFrom('runs').selectAll().where('campaign_id', '=', id).executeTakeFirstOrThrow();

  test('a failed campaign is resumed as the same run in a new workflow, once', async () => {
    const id = await newCampaign();
    const { id: runId } = await runOf(id);
    await db()
      .updateTable('runs')
      .set({ phase: 'failed', control: 'fail', reason: 'invalid_client: x', finished_at: new Date() })
      .where('id', '=', runId)
      .execute();
    expect((await act(id, 'pause')).status).toBe(409);
    expect((await act(id, 'resume')).body.data).toMatchObject({ phase: 'planning', status: 'active' });
    expect((await act(id, 'resume')).status).toBe(200);
    expect(launched.slice(1)).toMatchObject([{ runId, launch: 2 }]);
    expect(await detail(id)).toMatchObject({
      phase: 'planning',
      reason: null,
      finishedAt: null,
      workflowId: `campaign:${runId}:2`,
    });
  });

  test('a failed campaign is canceled for good: by a new workflow if it has recipients, otherwise at once', async () => {
    const frozen = await newCampaign();
    const { id: runId } = await runOf(frozen);
    await sql`insert into shards (run_id, channel, shard, from_seq, to_seq, next_seq) values (${runId}, 'email', 0, 0, 5, 2)`.execute(
      db(),
    );
    const failing = {
      phase: 'failed',
      control: 'fail',
      reason: 'invalid_client: x',
      finished_at: new Date(),
    } as const;
    await db().updateTable('runs').set(failing).where('id', '=', runId).execute();
    expect((await act(frozen, 'cancel')).body.data).toMatchObject({ phase: 'canceled' });
    expect((await act(frozen, 'cancel')).status).toBe(200);
    expect((await act(frozen, 'resume')).status).toBe(409);
    expect(launched.slice(1)).toMatchObject([{ runId, launch: 2 }]);
    expect(await runOf(frozen)).toMatchObject({ phase: 'running', control: 'cancel', launches: 2 });

    const planned = await newCampaign();
    const { id: other } = await runOf(planned);
    await db().updateTable('runs').set(failing).where('id', '=', other).execute();
    expect((await act(planned, 'cancel')).body.data).toMatchObject({
      phase: 'canceled',
      status: 'completed',
    });
    expect(launched).toHaveLength(3);
    expect(await detail(planned)).toMatchObject({ phase: 'canceled', reason: 'invalid_client: x' });
    expect((await act(planned, 'cancel')).status).toBe(200);
    expect((await act(planned, 'resume')).status).toBe(409);
  });

  test('recipients are sent to again in the phases that allow it, and in states that have failed', async () => {
    const id = await newCampaign();
    const again = (states?: string[]) => act(id, 'retry-failed', states && { states });
    expect((await again()).body).toMatchObject({ code: 'illegal_transition' });
    expect((await again()).body.message).toContain('planning');
    for (const phase of ['running', 'finishing', 'completed', 'failed']) {
      await setRun(id, phase);
      const found = await again(['failed', 'unknown', 'failed']);
      expect([found.status, found.body.data]).toMatchObject([200, { phase, retried: { email: 0 } }]);
    }
    expect(launched).toHaveLength(1);
    for (const states of [['rejected'], ['delivered'], ['pending'], []]) {
      expect((await again(states)).status).toBe(422);
    }
    await setRun(id, 'canceled');
    expect((await again()).status).toBe(409);
    expect((await act('cmp_none', 'retry-failed')).status).toBe(404);
  });

  test('the pace is changed while a campaign goes on, and removed with null', async () => {
    const id = await newCampaign({ delivery: { ratePerSecond: 10, maxConcurrentCalls: 3 } });
    const { id: runId } = await runOf(id);
    const pace = async () =>
      (await db().selectFrom('run_paces').select('rate').where('run_id', '=', runId).executeTakeFirst())
        ?.rate;
    const change = (delivery: object) => call('PATCH', `/api/campaign/${id}`, { delivery });
    expect(await pace()).toBe(10);
    await setRun(id, 'running');
    expect((await change({ ratePerSecond: 50 })).body.data).toMatchObject({
      id,
      phase: 'running',
      delivery: { ratePerSecond: 50, maxConcurrentCalls: 3 },
    });
    expect(await pace()).toBe(50);
    await act(id, 'pause');
    expect((await change({ ratePerSecond: null, maxConcurrentCalls: 7 })).body.data.delivery).toEqual({
      maxConcurrentCalls: 7,
    });
    expect(await pace()).toBeNull();
    expect((await detail(id)).delivery).toEqual({ maxConcurrentCalls: 7 });
    expect(told).toEqual([runId, runId, runId]);
    for (const wrong of [
      {},
      { ratePerSecond: 0 },
      { ratePerSecond: 1e9 },
      { quietHours: { from: '21:00', to: '08:00' } },
    ]) {
      expect((await change(wrong)).status).toBe(422);
    }
    for (const phase of ['completed', 'canceled', 'failed']) {
      await db().updateTable('runs').set({ control: 'run' }).where('id', '=', runId).execute();
      await setRun(id, phase);
      const late = await change({ ratePerSecond: 5 });
      expect([late.status, late.body.message]).toEqual([409, expect.stringContaining(phase)]);
    }
  });

  test('a draft takes a pace along when it starts', async () => {
    const id = await newCampaign({ start: false });
    await call('PATCH', `/api/campaign/${id}`, { delivery: { ratePerSecond: 2 } });
    await act(id, 'start');
    const { id: runId } = await runOf(id);
    const row = await db().selectFrom('run_paces').select('rate').where('run_id', '=', runId).execute();
    expect(row).toEqual([{ rate: 2 }]);
  });
});
