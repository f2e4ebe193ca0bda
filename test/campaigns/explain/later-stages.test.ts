import { type Kysely, sql } from 'kysely';
import { createExplanations, type Explanation } from '../../../src/campaigns/explain/explain';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { pauseItself } from '../../../src/campaigns/runs/own-pause';
import { recipientId } from '../../../src/domain/ids';
import { StagedRun } from '../../support/staged-run';
import { describeWithDatabase } from '../../support/storage';

const HOUR_MS = 3_600_000;
const STAGES = [{ recipients: 3, waitSeconds: 600 }, { recipients: 5 }];
/** More than the hour for which recipients that wait hold a stage. */
const HELD_SECONDS = 3_700;

describeWithDatabase('what is told of a recipient of a later stage', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  const rowsOf = async (run: StagedRun) =>
    (
      await sql<{ channel: 'sms' | 'email'; seq: number; code: string | null; retryAt: Date | null }>`
        select channel, seq, code, retry_at as "retryAt" from recipients
        where run_id = ${run.runId} order by channel, seq`.execute(db)
    ).rows;

  async function explain(
    run: StagedRun,
    key: { channel: 'sms' | 'email'; seq: number },
  ): Promise<Explanation> {
    const stories = { read: async () => ({ kind: 'told' as const, events: true, held: false, stories: [] }) };
    const { workspaceId, campaignId } = run.planted;
    const id = recipientId({ runId: run.runId, ...key });
    return createExplanations({ db, stories }).recipient(workspaceId, campaignId, id);
  }

  /** A run whose first stage was sent, or was held for an hour, and whose wait goes on; and its later recipients. */
  async function inTheWait(options: Record<string, unknown>, channels: ('sms' | 'email')[] = ['sms']) {
    const run = await StagedRun.plant(db, { stages: STAGES }, { contacts: 12, channels, options });
    await run.step();
    await run.send('sms');
    await run.pass(HELD_SECONDS);
    await run.step();
    expect(await run.stage()).toMatchObject({ stage: 1, sent: true, nextInSeconds: 600 });
    const later = (await rowsOf(run)).filter(({ code }) => code === 'later_stage');
    return { run, later };
  }

  async function beginNext(run: StagedRun) {
    await run.pass(601);
    await run.step();
    return (await rowsOf(run)).filter(({ code }) => code !== 'later_stage');
  }

  const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16);
  const wall = (ms: number) => `${new Date(ms).toISOString().slice(0, 16)}:00Z`;

  test('a recipient whom the run does not have is refused with the list of those that it has', async () => {
    const { run } = await inTheWait({});
    const { campaignId } = run.planted;
    const id = recipientId({ runId: run.runId, channel: 'sms', seq: 999 });
    await expect(explain(run, { channel: 'sms', seq: 999 })).rejects.toMatchObject({
      code: 'not_found',
      message: `Campaign ${campaignId} has no recipient ${id}; GET /api/campaign/${campaignId}/recipients lists its recipients`,
    });
  });

  test('it goes on when its stage begins, where that is known', async () => {
    const { run, later } = await inTheWait({});
    const told = await Promise.all(later.map((key) => explain(run, key)));
    expect(told.map(({ next }) => next?.why)).toEqual(Array(9).fill('stage'));
    const [next] = (
      await sql<{ at: Date }>`
        select next_at as at from run_stages where run_id = ${run.runId} and stage = 1`.execute(db)
    ).rows;
    const withTime = later.filter((_key, i) => told[i]?.next?.at !== undefined);
    expect(told.flatMap((one) => one.next?.at ?? [])).toEqual(Array(5).fill(next?.at));
    const before = new Set(later.map(({ seq }) => seq));
    const begun = (await beginNext(run)).filter(({ seq }) => before.has(seq));
    expect(begun.map(({ seq }) => seq)).toEqual(withTime.map(({ seq }) => seq));
  });

  test('the gate is named also where it is the gate of an occurrence that goes on beside it', async () => {
    const { run, later } = await inTheWait({ schedule: { cron: '0 9 * * *', recipientLocal: true } });
    const reason = { code: 'gate' as const, metric: 'failed' as const, value: 0.25, above: 0.2, sample: 8 };
    await db.transaction().execute((tx) => pauseItself(tx, run.runId, reason));
    const { next } = await explain(run, later[0] as (typeof later)[number]);
    expect(next).toMatchObject({
      why: 'gate',
      detail: expect.stringContaining('failed was 25 %, above 20 %'),
    });
  });

  test.each([
    [
      'the quiet hours in which it begins end',
      'quiet_hours',
      () => ({
        delivery: {
          quietHours: {
            from: clock(Date.now() - 2 * HOUR_MS),
            to: clock(Date.now() + 3 * HOUR_MS),
            timezone: 'Etc/UTC',
          },
        },
      }),
    ],
    [
      'the campaign’s hour comes by its own clock',
      'schedule',
      () => ({
        schedule: { startAt: wall(Date.now() + 4 * HOUR_MS), timezone: 'Etc/UTC', recipientLocal: true },
      }),
    ],
  ])('it goes on when %s', async (_title, why, optionsNow) => {
    const { run, later } = await inTheWait(optionsNow());
    const told = new Map<number, Date>();
    for (const key of later) {
      const { next } = await explain(run, key);
      expect(next?.why).toBe('stage');
      if (next?.at) told.set(key.seq, next.at);
    }
    expect(told.size).toBe(5);
    const begun = (await beginNext(run)).filter(({ seq }) => told.has(seq));
    // A page takes it then, and not before.
    expect(begun.map(({ seq, retryAt }) => [seq, retryAt])).toEqual([...told]);
    expect(Math.min(...[...told.values()].map(Number))).toBeGreaterThan(Date.now() + 2 * HOUR_MS);
    const [first] = begun;
    const after = first && (await explain(run, first));
    expect(after?.next?.at).toEqual(first?.retryAt);
    expect(after?.next?.why).toBe(why);
  });

  test('it does not expire before its stage has begun', async () => {
    const { run, later } = await inTheWait({ delivery: { expireAfterSeconds: 60 } });
    for (const key of later) expect((await explain(run, key)).next?.detail).not.toContain('too late');
  });

  test('a later channel’s time is not known', async () => {
    const { run, later } = await inTheWait({ strategy: 'fallback' }, ['sms', 'email']);
    const email = later.filter(({ channel }) => channel === 'email');
    expect(email).toHaveLength(9);
    for (const key of email) {
      expect((await explain(run, key)).next).toEqual({ why: 'stage', detail: expect.any(String) });
    }
  });

  test('no attempt was made before its stage', async () => {
    const { run, later } = await inTheWait({});
    for (const key of later) {
      const { recipient, steps } = await explain(run, key);
      expect(recipient).toMatchObject({ state: 'waiting', attempts: 0 });
      expect(steps.map(({ what }) => what)).toEqual(['frozen']);
    }
    const sent = (await rowsOf(run)).find(({ code }) => code !== 'later_stage');
    expect(sent && (await explain(run, sent)).recipient).toMatchObject({ state: 'sent', attempts: 1 });
  });
});
