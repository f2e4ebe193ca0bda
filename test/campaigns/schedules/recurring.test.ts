/** Proves that each occurrence of a recurring campaign is taken once, or left out with a reason. */

import { type Kysely, sql } from 'kysely';
import type { ActivityDeps } from '../../../activities/deps';
import { occurrenceActivities } from '../../../activities/run-lifecycle';
import { findCampaign } from '../../../src/campaigns/model/campaign-record';
import type { CampaignSchedules, RunLauncher } from '../../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { beginRun, liveRuns, moveRun } from '../../../src/campaigns/runs/runs';
import {
  isScheduled,
  keepSchedule,
  lookAtSchedules,
} from '../../../src/campaigns/schedules/schedule-reconciler';
import { createLog } from '../../../src/log';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';
import { dailyCampaign, finishRun } from './daily-campaign';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const log = createLog('silent');

describeWithDatabase('a recurring campaign', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(async () => {
    await sql`delete from campaign_schedules`.execute(db);
  });

  const daily = (schedule?: object) => dailyCampaign(db, schedule);
  const finish = (runId: string) => finishRun(db, runId);

  test('takes each occurrence once, by either caller, and waits for the next', async () => {
    const { take, first, runs, campaign, next } = await daily();
    expect(first).toBe(Math.ceil(Date.now() / DAY_MS) * DAY_MS);
    expect(await take(first - 1)).toBeUndefined();
    const taken = await Promise.all([take(first), take(first), take(first + 5)]);
    expect(new Set(taken.map((run) => run?.runId)).size).toBe(1);
    expect(await runs()).toMatchObject([{ phase: 'planning', due: new Date(first) }]);
    expect(await next()).toBe(first + DAY_MS);
    const runId = String(taken[0]?.runId);
    expect(await beginRun(db, runId)).toBe(true);
    expect((await campaign()).phase).toBe('scheduled');
    expect((await liveRuns(db)).find((run) => run.runId === runId)?.startAt).toBeUndefined();
    await finish(runId);
    expect((await campaign()).phase).toBe('scheduled');
  });

  test('makes up for ten missed occurrences with the newest alone', async () => {
    const { take, first, runs, next } = await daily();
    await take(first + 9 * DAY_MS + 3 * HOUR_MS);
    expect(await runs()).toMatchObject([{ phase: 'planning', due: new Date(first + 9 * DAY_MS) }]);
    expect(await next()).toBe(first + 10 * DAY_MS);
  });

  test('leaves a missed occurrence out when it is to be skipped, and says so', async () => {
    const { take, first, runs, campaign, next } = await daily({ misfire: 'skip' });
    expect(await take(first + HOUR_MS)).toBeUndefined();
    expect(await runs()).toMatchObject([
      { phase: 'canceled', reason: expect.stringMatching(/^misfire: /), due: new Date(first) },
    ]);
    expect([(await campaign()).phase, await next()]).toEqual(['scheduled', first + DAY_MS]);
    expect(await take(first + DAY_MS + 60_000)).toBeDefined();
  });

  test('leaves an occurrence out while the one before goes on, whose launch may have been lost', async () => {
    const { take, first, runs } = await daily();
    const run = await take(first);
    expect(await take(first + DAY_MS)).toEqual(run);
    expect(await runs()).toMatchObject([
      { phase: 'planning', reason: null },
      { phase: 'canceled', reason: expect.stringMatching(/^overlap: /) },
    ]);
  });

  test('ends with its last occurrence, as that ends', async () => {
    const endAt = new Date(Date.now() + 1.9 * DAY_MS).toISOString();
    const { take, first, campaign, next, act } = await daily({ endAt });
    const occurrences = [first];
    if ((await next()) !== undefined && first + DAY_MS <= Date.parse(endAt)) occurrences.push(first + DAY_MS);
    for (const at of occurrences) {
      const last = at === occurrences.at(-1);
      const run = await take(at);
      await beginRun(db, String(run?.runId));
      expect((await campaign()).phase).toBe(last ? 'planning' : 'scheduled');
      await moveRun(db, String(run?.runId), 'completed');
    }
    expect([(await campaign()).phase, await next()]).toEqual(['completed', undefined]);
    await expect(act('cancel')).rejects.toMatchObject({ code: 'illegal_transition' });
  });

  test('ends as canceled when its only occurrence was missed until the schedule had ended', async () => {
    const endAt = new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS + 1).toISOString();
    const { take, first, campaign } = await daily({ endAt });
    expect(await take(first + HOUR_MS)).toBeUndefined();
    const { phase, run } = await campaign();
    expect([phase, run?.reason]).toEqual(['canceled', expect.stringMatching(/^misfire: .+ had ended$/)]);
  });

  test('is paused and resumed with its live run, and what fell into the pause is left out', async () => {
    const { take, first, act, campaign, runs, next } = await daily();
    const run = await take(first);
    const paused = await act('pause');
    expect(paused).toEqual({ schedule: true, controlChanged: [run] });
    expect([(await campaign()).phase, (await runs())[0]?.control]).toEqual(['paused', 'pause']);
    expect(await act('pause')).toEqual(paused);
    expect(await next()).toBeUndefined();
    await take(first + DAY_MS);
    expect(await runs()).toHaveLength(1);
    await sql`update campaign_schedules set next_at = now() - interval '1 hour'`.execute(db);
    await act('resume');
    expect([(await campaign()).phase, (await runs())[0]?.control, await next()]).toEqual([
      'scheduled',
      'run',
      first,
    ]);
  });

  test('is canceled for good, with a live run or without', async () => {
    const idle = await daily();
    await finish(String((await idle.take(idle.first))?.runId));
    await idle.act('cancel');
    expect((await idle.campaign()).phase).toBe('canceled');
    expect(await idle.take(idle.first + 2 * DAY_MS)).toBeUndefined();

    const busy = await daily();
    const run = await busy.take(busy.first);
    expect(await busy.act('cancel')).toEqual({ schedule: true, controlChanged: [run] });
    expect([(await busy.campaign()).phase, (await busy.runs())[0]?.control]).toEqual(['canceled', 'cancel']);
    await expect(busy.act('resume')).rejects.toMatchObject({ code: 'illegal_transition' });
    expect(await busy.act('cancel')).toEqual({ schedule: true, controlChanged: [run] });
    await moveRun(db, String(run?.runId), 'canceled');
    expect((await busy.campaign()).phase).toBe('canceled');
  });

  test('started by hand it has an occurrence now, once while that goes on, and its schedule goes on', async () => {
    const { act, runs, next, first, campaign } = await daily();
    const started = await act('start');
    expect(started.launch).toEqual({ runId: expect.any(String), launch: 1 });
    expect(await act('start')).toEqual({});
    expect(await runs()).toMatchObject([{ phase: 'planning', due: null }]);
    expect([(await campaign()).phase, await next()]).toEqual(['scheduled', first]);
  });

  describe('at Temporal', () => {
    const kept: unknown[] = [];
    let isDown = false;
    let meanwhile: () => Promise<unknown> = async () => undefined;
    const schedules: CampaignSchedules & RunLauncher = {
      async keepSchedule(schedule) {
        if (isDown) throw new Error('no server');
        await meanwhile();
        kept.push(schedule);
      },
      async removeSchedule(campaignId) {
        kept.push(campaignId);
      },
      async launch(run) {
        kept.push(run);
      },
      controlChanged: async () => undefined,
    };
    beforeEach(() => {
      kept.length = 0;
      isDown = false;
      meanwhile = async () => undefined;
    });

    test('a schedule that could not be kept is by the next look, and is not touched again', async () => {
      const { campaignId, act } = await daily({ timezone: 'Asia/Tokyo' });
      isDown = true;
      await expect(keepSchedule(db, schedules, campaignId)).rejects.toThrow('no server');
      await lookAtSchedules(db, schedules, log);
      isDown = false;
      await lookAtSchedules(db, schedules, log);
      const one = { campaignId, cron: '0 0 * * *', timezone: 'Asia/Tokyo' };
      expect(kept).toEqual([expect.objectContaining({ ...one, isPaused: false })]);
      await lookAtSchedules(db, schedules, log);
      expect(kept).toHaveLength(1);
      await act('pause');
      await lookAtSchedules(db, schedules, log);
      expect(kept[1]).toMatchObject({ ...one, isPaused: true });
      await act('cancel');
      await lookAtSchedules(db, schedules, log);
      expect(kept[2]).toBe(campaignId);
      expect(await db.selectFrom('campaign_schedules').selectAll().execute()).toEqual([]);
    });

    test('a schedule follows a change although a frozen process wrote the former state', async () => {
      const { campaignId, act } = await daily();
      const once = (action: 'pause' | 'cancel') => async () => {
        meanwhile = async () => undefined;
        await act(action);
        await keepSchedule(db, schedules, campaignId);
        kept.length = 0;
      };
      meanwhile = once('pause');
      await keepSchedule(db, schedules, campaignId);
      expect(kept).toEqual([
        expect.objectContaining({ isPaused: false }),
        expect.objectContaining({ isPaused: true }),
      ]);
      meanwhile = once('cancel');
      await keepSchedule(db, schedules, campaignId);
      expect(kept).toEqual([expect.objectContaining({ isPaused: true }), campaignId]);
      expect(await isScheduled(db, campaignId)).toBe(false);
    });

    test('a schedule that rings for a campaign which has none any more is taken down', async () => {
      const { campaignId, workspaceId, act, first } = await daily();
      const signals = {
        launchRun: schedules.launch,
        removeSchedule: schedules.removeSchedule,
      } as unknown as ActivityDeps['signals'];
      const ring = (scheduledFor: number) =>
        occurrenceActivities({ db, signals } as ActivityDeps).takeOccurrence({
          campaignId,
          workspaceId,
          scheduledFor,
        });
      const { runId } = await ring(first);
      expect(kept).toEqual([expect.objectContaining({ runId })]);
      await finish(String(runId));
      await ring(first);
      expect(kept).toHaveLength(1);
      await act('cancel');
      await keepSchedule(db, schedules, campaignId);
      kept.length = 0;
      expect(await ring(first + DAY_MS)).toEqual({ runId: null });
      expect(kept).toEqual([campaignId]);
    });

    test('an occurrence is late by the database’s clock, not by one that is ahead', async () => {
      const { campaignId, runs } = await daily();
      await keepSchedule(db, schedules, campaignId);
      await sql`update campaign_schedules set next_at = now() + interval '1 minute'`.execute(db);
      const { now } = Date;
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 120_000);
      try {
        await lookAtSchedules(db, schedules, log);
      } finally {
        clock.mockRestore();
      }
      expect(await runs()).toEqual([]);
    });

    test('a schedule that was lost is made again when it was not looked at for a while', async () => {
      const { campaignId } = await daily();
      await keepSchedule(db, schedules, campaignId);
      await sql`update campaign_schedules set looked_at = now() - interval '11 minutes'`.execute(db);
      await lookAtSchedules(db, schedules, log);
      expect(kept).toHaveLength(2);
    });

    test('an occurrence that was not taken in time is taken and launched by the look', async () => {
      const { campaignId, first, runs } = await daily();
      await keepSchedule(db, schedules, campaignId);
      await lookAtSchedules(db, schedules, log, first + 20_000);
      expect(await runs()).toEqual([]);
      await lookAtSchedules(db, schedules, log, first + 40_000);
      expect(kept[1]).toMatchObject({ campaignId, runId: (await runs())[0]?.id, launch: 1 });
    });
  });

  describe('that happens once', () => {
    async function late(schedule: object, stage = 'scheduled') {
      const startAt = new Date(Date.now() - HOUR_MS).toISOString();
      const options = { schedule: { startAt, ...schedule } };
      const planted = await plantRun(db, { contacts: 1, options });
      await sql`update campaigns set stage = ${stage} where id = ${planted.campaignId}`.execute(db);
      const begun = await beginRun(db, planted.runId);
      const found = await findCampaign(db, planted.workspaceId, planted.campaignId);
      return [begun, found?.phase, found?.run?.reason];
    }

    test('begins late, unless it is to be left out then', async () => {
      expect(await late({})).toEqual([true, 'planning', null]);
      expect(await late({ misfire: 'send' })).toEqual([true, 'planning', null]);
      expect(await late({ misfire: 'skip' })).toEqual([
        false,
        'canceled',
        expect.stringMatching(/^misfire: /),
      ]);
      expect(await late({ misfire: 'skip', startAt: new Date(Date.now() - 60_000).toISOString() })).toEqual([
        true,
        'planning',
        null,
      ]);
    });

    test('waits for its hour by the database’s clock, when its workflow is early and can wait', async () => {
      const startAt = new Date(Date.now() + 60_000).toISOString();
      const planted = await plantRun(db, { contacts: 1, options: { schedule: { startAt } } });
      await sql`update campaigns set stage = 'scheduled' where id = ${planted.campaignId}`.execute(db);
      const phase = async () => (await findCampaign(db, planted.workspaceId, planted.campaignId))?.phase;
      const { now } = Date;
      const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + 120_000);
      try {
        const begun = await beginRun(db, planted.runId, { mayWait: true });
        expect(begun).toEqual({ waitMs: expect.any(Number) });
        const { waitMs } = begun as { waitMs: number };
        expect([waitMs > 0, waitMs <= 60_000, await phase()]).toEqual([true, true, 'scheduled']);
      } finally {
        clock.mockRestore();
      }
      const hasCome = { schedule: { startAt: new Date(Date.now() - 1).toISOString() } };
      await sql`update campaigns set options = ${JSON.stringify(hasCome)}::jsonb where id = ${planted.campaignId}`.execute(
        db,
      );
      expect(await beginRun(db, planted.runId, { mayWait: true, launch: 2 })).toBe(false);
      expect(await beginRun(db, planted.runId, { mayWait: true, launch: 1 })).toBe(true);
      expect(await phase()).toBe('planning');
    });

    test('begins early for a workflow of a release that cannot wait', async () => {
      const startAt = new Date(Date.now() + 60_000).toISOString();
      const planted = await plantRun(db, { contacts: 1, options: { schedule: { startAt } } });
      await sql`update campaigns set stage = 'scheduled' where id = ${planted.campaignId}`.execute(db);
      expect(await beginRun(db, planted.runId)).toBe(true);
    });

    test('begins whatever its schedule says when it is started by hand', async () => {
      expect(await late({ misfire: 'skip' }, 'started')).toEqual([true, 'planning', null]);
    });
  });
});
