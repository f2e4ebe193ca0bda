/** Proves recurring campaigns whose recipients have each occurrence at their own hour. */

import { type Kysely, sql } from 'kysely';
import { createCarryOut } from '../../../src/campaigns/actions/carry-out';
import { amendCampaign } from '../../../src/campaigns/actions/change-campaign';
import { readCampaign } from '../../../src/campaigns/model/campaign-record';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { createPolicies } from '../../../src/campaigns/policy/policy';
import { pauseItself } from '../../../src/campaigns/runs/own-pause';
import { closeRun } from '../../../src/campaigns/runs/run-end';
import { hasCompanion, loadRun } from '../../../src/campaigns/runs/runs';
import { nextRun } from '../../../src/campaigns/schedules/recurring';
import { keepSchedule } from '../../../src/campaigns/schedules/schedule-reconciler';
import { CHANNELS } from '../../../src/domain/channel';
import { LIMITS } from '../../../src/domain/limits';
import { NO_POLICY } from '../../../src/domain/policy';
import { startFor } from '../../../src/domain/time-zones/recipient-hours';
import { createLog } from '../../../src/log';
import { StagedRun } from '../../support/staged-run';
import { describeWithDatabase } from '../../support/storage';
import { dailyCampaign, finishRun } from './daily-campaign';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describeWithDatabase('a recurring campaign at each recipient’s own hour', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  const daily = (schedule?: object) => dailyCampaign(db, schedule);
  const finish = (runId: string) => finishRun(db, runId);
  const local = (schedule: object = {}) => daily({ recipientLocal: true, ...schedule });

  test('begins when the first clocks show it, and remembers what they show', async () => {
    const { take, first, campaign, runs, campaignId } = await local();
    expect(new Date(first).toISOString().slice(11, 16)).toBe('10:00');
    const localTime = new Date(first + 14 * HOUR_MS).toISOString().slice(0, 16);
    expect(localTime.slice(11)).toBe('00:00');
    expect(await nextRun(db, await campaign())).toEqual({
      nextRunAt: new Date(first),
      nextLocalTime: localTime,
    });
    const { runId } = (await take(first)) as { runId: string };
    expect((await loadRun(db, runId)).options.localTime).toBe(localTime);
    expect(await runs()).toMatchObject([{ due: new Date(first) }]);
    const kept: unknown[] = [];
    const schedules = {
      keepSchedule: async (schedule: unknown) => void kept.push(schedule),
      removeSchedule: async () => undefined,
    };
    await keepSchedule(db, schedules, campaignId);
    expect(kept).toMatchObject([{ cron: '0 0 * * *', timezone: 'Etc/GMT-14' }]);
  });

  test('begins beside the one before, for as long as that has to go on, and no longer', async () => {
    const { take, first, runs, act } = await local();
    const one = await take(first);
    const two = await take(first + DAY_MS);
    expect(two?.runId).not.toBe(one?.runId);
    // Yesterday's is over for all clocks on earth by then, and still goes on; so does the day before's.
    expect(await take(first + 2 * DAY_MS)).toEqual(two);
    expect(await runs()).toMatchObject([
      { phase: 'planning' },
      { phase: 'planning' },
      { phase: 'canceled', reason: expect.stringMatching(/^overlap: /) },
    ]);
    await finish(String(one?.runId));
    await finish(String(two?.runId));
    const four = await take(first + 3 * DAY_MS);
    const five = await take(first + 4 * DAY_MS);
    const both = [five, four];
    expect(await act('pause')).toEqual({ schedule: true, controlChanged: both });
    expect((await runs()).map(({ control }) => control)).toEqual(['run', 'run', 'cancel', 'pause', 'pause']);
    expect(await act('resume')).toEqual({ schedule: true, controlChanged: both });
    expect(await act('start')).toEqual({});
    expect(await act('cancel')).toEqual({ schedule: true, controlChanged: both });
    expect((await runs()).map(({ control }) => control).slice(3)).toEqual(['cancel', 'cancel']);
  });

  test('does not begin beside one that is paused, whose messages it would release', async () => {
    const { take, first, runs, campaign, act } = await local();
    const one = await take(first);
    // As a gate does, while the schedule continues.
    await db.transaction().execute((tx) =>
      pauseItself(tx, String(one?.runId), {
        code: 'gate',
        metric: 'failed',
        value: 1,
        above: 0.1,
        sample: 5,
      }),
    );
    expect(await take(first + DAY_MS)).toEqual(one);
    expect((await runs())[1]).toMatchObject({
      phase: 'canceled',
      reason: 'overlap: the occurrence before it was paused',
    });
    expect((await campaign()).stage).toBe('scheduled');
    await act('resume');
    await finish(String(one?.runId));
    expect((await take(first + 2 * DAY_MS))?.runId).not.toBe(one?.runId);
  });

  describe('with one that stands paused while none newer goes on', () => {
    const GATE = { code: 'gate' as const, metric: 'failed' as const, value: 1, above: 0.1, sample: 5 };
    async function two() {
      const found = await local();
      const [older, newer] = [await found.take(found.first), await found.take(found.first + DAY_MS)];
      return { ...found, older: String(older?.runId), newer: String(newer?.runId) };
    }

    test('is paused, and says why, when the newer one ends after the gate has closed', async () => {
      const { campaign, act, older, newer } = await two();
      await db.transaction().execute(async (tx) => {
        for (const runId of [older, newer]) await pauseItself(tx, runId, GATE);
      });
      await closeRun(db, newer, 'completed', undefined);
      expect(await campaign()).toMatchObject({ phase: 'paused', run: { id: older, own_reason: GATE } });
      await act('resume');
      expect(await campaign()).toMatchObject({ phase: 'scheduled', run: { control: 'run' } });
    });

    test('is paused when a gate of the older one closes after the newer has ended', async () => {
      const options = { schedule: { cron: '0 9 * * *', recipientLocal: true } };
      const gates = [{ metric: 'failed' as const, above: 0.4, minSample: 3 }];
      const run = await StagedRun.plant(db, { stages: [{ recipients: 3 }], gates }, { options });
      const { campaignId, workspaceId } = run.planted;
      const newer = `${run.runId}-2`;
      await sql`
        insert into runs (id, workflow_id, workspace_id, campaign_id, number, phase, control)
        select ${newer}, ${newer}, workspace_id, campaign_id, number + 1, 'completed', 'run' from runs
        where id = ${run.runId}`.execute(db);
      await sql`update campaigns set stage = 'scheduled', current_run = ${newer} where id = ${campaignId}`.execute(
        db,
      );
      await run.step();
      await run.send('sms', 'failed');
      expect((await run.step()).isClosed).toBe(true);
      expect(await readCampaign(db, workspaceId, campaignId)).toMatchObject({
        phase: 'paused',
        run: { id: run.runId, own_reason: { code: 'gate' } },
      });
    });

    test('keeps its messages held when its owner pauses it', async () => {
      const { campaignId, workspaceId, act, newer } = await two();
      await closeRun(db, newer, 'completed', undefined);
      const asked: string[] = [];
      const done = async () => undefined;
      const { carryOut } = createCarryOut({
        db,
        launcher: { launch: done, controlChanged: done },
        holds: { hold: async () => void asked.push('hold'), release: async () => void asked.push('release') },
        log: createLog('silent'),
      });
      await carryOut(workspaceId, campaignId, await act('pause'), { holds: true });
      expect(asked).toEqual(['hold']);
    });

    test('is paused when an approval is taken back, and is not resumed without another', async () => {
      const { campaignId, workspaceId, campaign, act, older, newer } = await two();
      await closeRun(db, newer, 'completed', undefined);
      expect(await campaign()).toMatchObject({ phase: 'scheduled', run: { id: newer } });
      const approval = { above: 0, channels: [...CHANNELS] };
      await createPolicies({ db }).replace(workspaceId, { ...NO_POLICY, approval });
      await sql`insert into contact_list_members (list_id, contact_id) select contact_list_ids[1], 'con_1' from campaigns where id = ${campaignId}
        on conflict do nothing`.execute(db);
      await amendCampaign(db, workspaceId, campaignId, { delivery: { ratePerSecond: 5 } });
      expect(await campaign()).toMatchObject({
        phase: 'paused',
        run: { id: older, own_reason: { code: 'approval_required' } },
      });
      await expect(act('resume')).rejects.toMatchObject({ code: 'approval_required' });
    });
  });

  test('goes on side by side no more often than is allowed', async () => {
    const { take, first, runs, campaignId } = await local({ cron: '0 * * * *' });
    for (let i = 0; i < 26; i++) await take(first + i * HOUR_MS);
    expect((await runs()).map(({ phase }) => phase)).toEqual(Array(26).fill('planning'));
    const { rows } = await sql<{ id: string }>`
        select id from runs where campaign_id = ${campaignId} order by number limit 1`.execute(db);
    await finish(rows[0]?.id ?? '');
    await take(first + 26 * HOUR_MS);
    expect((await runs()).at(-1)).toMatchObject({ phase: 'planning' });

    const often = await local({ cron: '*/10 * * * *' });
    for (let i = 0; i < LIMITS.occurrencesAtOnce + 1; i++) await often.take(often.first + (i * HOUR_MS) / 6);
    expect((await often.runs()).at(-1)?.reason).toMatch(/^overlap: 30 occurrences /);
  });

  test('is edited only when none goes on, and ends when the last of those that go on has', async () => {
    const startAt = new Date(Date.now() - DAY_MS).toISOString();
    const { take, first, campaign, runs, act } = await local({ startAt });
    const one = (await take(first)) as { runId: string };
    await sql`update campaigns set options = jsonb_set(options, '{schedule,endAt}', ${JSON.stringify(
      new Date(first + DAY_MS + 14 * HOUR_MS).toISOString(),
    )}::jsonb) where id = ${(await campaign()).id}`.execute(db);
    const two = (await take(first + DAY_MS)) as { runId: string };
    expect((await campaign()).stage).toBe('started');
    expect(await hasCompanion(db, { runId: two.runId, campaignId: (await campaign()).id })).toBe(true);
    await closeRun(db, two.runId, 'completed', undefined);
    // The one before goes on, and is what its owner steers.
    expect(await campaign()).toMatchObject({ phase: 'planning', run: { id: one.runId } });
    const told = await db
      .selectFrom('campaign_phase_changes')
      .select('phase')
      .where('campaign_id', '=', (await campaign()).id)
      .execute();
    expect(told.map(({ phase }) => phase)).not.toContain('completed');
    expect(await act('pause')).toEqual({ controlChanged: [one] });
    await act('resume');
    await closeRun(db, one.runId, 'completed', undefined);
    expect((await campaign()).phase).toBe('completed');
    expect((await runs()).map(({ phase }) => phase)).toEqual(['completed', 'completed']);
  });

  test('counts what was missed from when it was to begin', async () => {
    const { take, first, runs } = await local({ misfire: 'skip' });
    expect(await take(first + HOUR_MS)).toBeUndefined();
    expect((await runs())[0]?.reason).toMatch(/^misfire: /);
  });

  test('started by hand, it is due now for all recipients', async () => {
    const { act } = await local();
    const { launch } = await act('start');
    const { options } = await loadRun(db, launch?.runId ?? '');
    expect(startFor('Asia/Tokyo', options)).toBeUndefined();
  });
});
