/** Proves that planned runs and sends are woken once, when they are due, and go on by themselves if nothing wakes them. */

import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { planWake } from '../../../src/campaigns/runs/planned-wake';
import { claimSend, lookAtSend } from '../../../src/campaigns/sends/claim-sends';
import { createDurableSends } from '../../../src/campaigns/sends/durable-sends';
import { followStops } from '../../../src/campaigns/stops/follow-stops';
import { createStops } from '../../../src/campaigns/stops/stops';
import { launchInTurn } from '../../../src/campaigns/watch/launch-in-turn';
import { launchDue, wakePlanned } from '../../../src/campaigns/watch/planned-launches';
import { overdueSends } from '../../../src/campaigns/watch/run-reconciler';
import { durableSendBody } from '../../../src/contracts/durable-sends';
import { LIMITS } from '../../../src/domain/limits';
import { createLog } from '../../../src/log';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

describeWithDatabase('planned runs and sends', (database) => {
  const log = createLog('silent');
  let db: Kysely<CampaignTables>;
  /** What Temporal was asked, such as `wake snd_1`. */
  let asked: string[];
  let startAt: (Date | undefined)[];
  let launcher: ReturnType<typeof launcherOf>;
  beforeEach(async () => {
    db = (await database.open()).tables<CampaignTables>();
    asked = [];
    startAt = [];
    launcher = launcherOf();
  });
  afterEach(() => launcher.stop());

  function launcherOf() {
    const note = (id: string, launch: { isDue?: boolean; startAt?: Date | undefined }) => {
      asked.push(`${launch.isDue ? 'wake' : 'start'} ${id}`);
      startAt.push(launch.startAt);
    };
    return launchInTurn(
      db,
      {
        launch: async (run) => note(run.runId, run),
        launchSend: async (send) => note(send.sendId, send),
        wakeShards: async ({ runId, shards }) =>
          shards.forEach(({ channel, shard }) => void asked.push(`wake ${runId} ${channel} ${shard}`)),
        wakeSend: async () => undefined,
      },
      log,
    );
  }

  const body = (sendAt?: Date) =>
    durableSendBody.parse({
      ...{ channel: 'sms', uid: newId('uid'), to: '+12025550190', from: '12345' },
      ...{ 'template-id': 'tpl_1', params: {}, ...(sendAt ? { sendAt: sendAt.toISOString() } : {}) },
    });

  async function createdSend(sendAt?: Date, workspaceId = newId('ws')): Promise<string> {
    const sends = createDurableSends({ db, launcher, log });
    return (await sends.create(workspaceId, newId('snd'), body(sendAt))).id;
  }

  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000);

  test('wait in Temporal for somewhat longer, and are woken once when they are due', async () => {
    const due = inSeconds(60);
    const id = await createdSend(due);
    expect(asked).toEqual([`start ${id}`]);
    expect(startAt[0]?.getTime()).toBe(due.getTime() + LIMITS.plannedGraceMs);
    await launchDue(db, launcher);
    expect(asked).toHaveLength(1);
    await sql`update durable_sends set launch_at = now(), due_at = now() where id = ${id}`.execute(db);
    await launchDue(db, launcher);
    await launchDue(db, launcher);
    expect(asked.slice(1)).toEqual([`wake ${id}`]);
  });

  test('are looked for by themselves', async () => {
    const id = await createdSend(inSeconds(60));
    await sql`update durable_sends set launch_at = now() where id = ${id}`.execute(db);
    const waking = wakePlanned(db, launcher, log);
    await until('it is woken', () => asked.includes(`wake ${id}`));
    await waking.stop();
  });

  test('of two processes one takes each', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => createdSend(inSeconds(60))));
    await sql`update durable_sends set launch_at = now() where id = any(${ids}::text[])`.execute(db);
    asked = [];
    const other = launcherOf();
    await Promise.all([launchDue(db, launcher), launchDue(db, other)]);
    other.stop();
    expect([...asked].sort()).toEqual(ids.map((id) => `wake ${id}`).sort());
  });

  test('are no others: what is due within seconds starts by itself', async () => {
    const [now, soon] = [await createdSend(), await createdSend(inSeconds(1))];
    await until('both are due', async () => Date.now() > (startAt[1]?.getTime() ?? Infinity));
    await launchDue(db, launcher);
    expect(asked).toEqual([`start ${now}`, `start ${soon}`]);
  });

  test('of a stopped workspace are woken at the end of the stop, and those of others before', async () => {
    const workspaceId = newId('ws');
    const stops = createStops({ db, changed: async () => undefined, log });
    await stops.begin(workspaceId, { by: 'ada@example.com', reason: 'wrong price' });
    const [held, free] = [await createdSend(inSeconds(60), workspaceId), await createdSend(inSeconds(60))];
    await sql`update durable_sends set launch_at = now(), due_at = now()`.execute(db);
    asked = [];
    await launchDue(db, launcher);
    expect(asked).toEqual([`wake ${free}`]);
    await stops.end(workspaceId);
    const followed = followStops(db, { controlChanged: async () => undefined }, log);
    await followed.tick();
    await followed.stop();
    await launchDue(db, launcher);
    expect(asked).toEqual([`wake ${free}`, `wake ${held}`]);
  });

  test('of a stopped workspace that expire before their hour are woken when they expire', async () => {
    const workspaceId = newId('ws');
    const stops = createStops({ db, changed: async () => undefined, log });
    await stops.begin(workspaceId, { by: 'ada@example.com', reason: 'wrong price' });
    const sends = createDurableSends({ db, launcher, log });
    const brief = { ...body(inSeconds(60)), expiresAt: inSeconds(30).toISOString() };
    const { id } = await sends.create(workspaceId, newId('snd'), brief);
    asked = [];
    await launchDue(db, launcher);
    expect(asked).toEqual([]);
    await sql`update durable_sends set launch_at = now(), due_at = now(),
      content = jsonb_set(content, '{expiresAt}', to_jsonb(now() - interval '1 second'))`.execute(db);
    await launchDue(db, launcher);
    expect(asked).toEqual([`wake ${id}`]);
  });

  test('that a stop holds are woken when they expire', async () => {
    const workspaceId = newId('ws');
    const stops = createStops({ db, changed: async () => undefined, log });
    await stops.begin(workspaceId, { by: 'ada@example.com', reason: 'wrong price' });
    const sends = createDurableSends({ db, launcher, log });
    const lasting = { ...body(inSeconds(60)), expiresAt: inSeconds(90).toISOString() };
    const { id } = await sends.create(workspaceId, newId('snd'), lasting);
    await sql`update durable_sends set launch_at = now(), due_at = now() where id = ${id}`.execute(db);
    asked = [];
    await launchDue(db, launcher);
    const row = await db
      .selectFrom('durable_sends')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect([asked, row.launch_at?.toISOString()]).toEqual([[], lasting.expiresAt]);
    await sql`update durable_sends set launch_at = now(),
      content = jsonb_set(content, '{expiresAt}', to_jsonb(now())) where id = ${id}`.execute(db);
    await launchDue(db, launcher);
    await launchDue(db, launcher);
    expect(asked).toEqual([`wake ${id}`]);
  });

  test('that two stops have held are woken at the end of each, however soon one follows the other', async () => {
    const workspaceId = newId('ws');
    const stops = createStops({ db, changed: async () => undefined, log });
    const followed = followStops(db, { controlChanged: async () => undefined }, log);
    const id = await createdSend(undefined, workspaceId);
    asked = [];
    for (const reason of ['wrong price', 'wrong name']) {
      await stops.begin(workspaceId, { by: 'ada@example.com', reason });
      expect(await lookAtSend(db, id)).toMatchObject({ kind: 'wait', waitMs: 600_000 });
      await stops.end(workspaceId);
      await followed.tick();
      await until(
        'they are told',
        async () => (await db.selectFrom('workspace_stops').selectAll().execute()).length === 0,
      );
      await launchDue(db, launcher);
    }
    await followed.stop();
    expect(asked).toEqual([`wake ${id}`, `wake ${id}`]);
  });

  test('that a stop has held are woken within a minute when Temporal or the process is away at its end', async () => {
    const id = await createdSend();
    await sql`update durable_sends set due_at = now() - interval '1 minute', launch_at = now() where id = ${id}`.execute(
      db,
    );
    const away = launchInTurn(
      db,
      {
        launch: async () => undefined,
        wakeShards: async () => undefined,
        launchSend: () => Promise.reject(new Error('no connection')),
      },
      log,
    );
    await expect(launchDue(db, away)).rejects.toThrow('no connection');
    away.stop();
    asked = [];
    await launchDue(db, launcher);
    expect(asked).toEqual([]);
    for (const send of await overdueSends(db)) await launcher.launchSend(send);
    expect(asked).toEqual([`wake ${id}`]);
  });

  test('that are put off until a window opens are woken when it does', async () => {
    const id = await createdSend();
    const hour = new Date().getUTCHours();
    const [from, to] = [(hour + 2) % 24, (hour + 3) % 24].map((at) => `${String(at).padStart(2, '0')}:00`);
    const window = { from, to, timezone: 'UTC' };
    await sql`
      update durable_sends set content = content || ${JSON.stringify({ window })}::jsonb where id = ${id}`.execute(
      db,
    );
    const turn = await lookAtSend(db, id);
    const { launch_at: launchAt, due_at: dueAt } = await db
      .selectFrom('durable_sends')
      .select(['launch_at', 'due_at'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(launchAt).toEqual(dueAt);
    const waitMs = (turn as { waitMs: number }).waitMs;
    expect(waitMs - (dueAt.getTime() - Date.now())).toBeGreaterThan(LIMITS.plannedGraceMs - 1_000);
    expect(await claimSend(db, id, true)).toBeUndefined();
  });

  test('that were put off hold their places until they are sent or put off again', async () => {
    const places = LIMITS.durableSendsLaunchedEach;
    const workspaceId = newId('ws');
    const ids = await Promise.all(
      Array.from({ length: 2 * places }, () => createdSend(inSeconds(60), workspaceId)),
    );
    await sql`
      update durable_sends set started_at = now(), due_at = now(), launch_at = now() where id = any(${ids}::text[])`.execute(
      db,
    );
    asked = [];
    await launchDue(db, launcher);
    await new Promise((done) => setTimeout(done, 400));
    expect(asked).toHaveLength(places);
    const woken = asked.map((one) => one.replace('wake ', ''));
    await sql`update durable_sends set state = 'sending' where id = ${woken[0]}`.execute(db);
    await sql`update durable_sends set due_at = now() + interval '1 hour' where id = ${woken[1]}`.execute(db);
    await until('two more are woken', () => asked.length === places + 2);
  });

  test('are runs of campaigns too', async () => {
    const runId = newId('run');
    await sql`
      insert into runs (id, workspace_id, campaign_id, number, phase, workflow_id, launch_at)
      values (${runId}, 'ws_a', 'cmp_a', 1, 'planning', 'x', now() + interval '1 minute')`.execute(db);
    await launchDue(db, launcher);
    expect(asked).toEqual([]);
    await sql`update runs set launch_at = now() where id = ${runId}`.execute(db);
    await launchDue(db, launcher);
    await launchDue(db, launcher);
    expect(asked).toEqual([`wake ${runId}`]);
  });

  test('that have begun have those shards woken that have recipients left, and are over when they are ended', async () => {
    const [begun, ended] = [
      await plantAudience(db, { contacts: 2 }),
      await plantAudience(db, { contacts: 1 }),
    ];
    await planWake(db, begun.runId, inSeconds(60));
    // What is sooner counts.
    await planWake(db, begun.runId, inSeconds(90));
    const { launch_at: launchAt } = await db
      .selectFrom('runs')
      .select('launch_at')
      .where('id', '=', begun.runId)
      .executeTakeFirstOrThrow();
    expect(Math.abs((launchAt?.getTime() ?? 0) - inSeconds(60).getTime())).toBeLessThan(5_000);
    await sql`update runs set phase = 'running', launch_at = now() where id = ${begun.runId}`.execute(db);
    await sql`update runs set phase = 'completed', launch_at = now() where id = ${ended.runId}`.execute(db);
    await launchDue(db, launcher);
    await launchDue(db, launcher);
    expect(asked).toEqual([`wake ${begun.runId} sms 0`]);
    asked = [];
    await sql`update shards set next_seq = to_seq where run_id = ${begun.runId}`.execute(db);
    await sql`update runs set launch_at = now() where id = ${begun.runId}`.execute(db);
    await launchDue(db, launcherOf());
    expect(asked).toEqual([]);
  });

  test('that have begun are woken as earlier ones of their workspace open a page, or sleep again', async () => {
    const workspaceId = newId('ws');
    const places = LIMITS.runsLaunchedEach;
    const planted = await Promise.all(
      Array.from({ length: 2 * places }, () => plantAudience(db, { contacts: 1, workspaceId })),
    );
    await sql`update runs set phase = 'running', launch_at = now() where workspace_id = ${workspaceId}`.execute(
      db,
    );
    await launchDue(db, launcher);
    await new Promise((done) => setTimeout(done, 400));
    expect(asked).toHaveLength(places);
    const woken = planted.map(({ runId }) => runId).filter((id) => asked.includes(`wake ${id} sms 0`));
    await sql`update shards set next_seq = to_seq where run_id = ${woken[0]}`.execute(db);
    await planWake(db, woken[1] ?? '', inSeconds(3_600));
    await until('two more are woken', () => asked.length === places + 2);
  });
});
