import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MockActivityEnvironment } from '@temporalio/testing';
import { type Kysely, sql } from 'kysely';
import { createActivities } from '../../activities';
import type { PlaceCallOutcome, StartCallsOutcome } from '../../activities/calls';
import type { SendPageOutcome } from '../../activities/send';
import { cancelUnsent } from '../../src/campaigns/actions/cancel-run';
import { openCall } from '../../src/campaigns/calls/calls';
import { createExplanations } from '../../src/campaigns/explain/explain';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { readCounts } from '../../src/campaigns/runs/ledger-counts';
import { expireStopped } from '../../src/campaigns/stops/expire-overdue';
import type { Channel } from '../../src/domain/channel';
import { recipientId } from '../../src/domain/ids';
import { LIMITS } from '../../src/domain/limits';
import type { Gateway } from '../../src/gateway/gateway';
import { openGateway } from '../../src/gateway/http-gateway';
import { createLog } from '../../src/log';
import { plantAudience } from '../support/audience';
import { describeWithDatabase } from '../support/storage';

const HOUR_MS = 3_600_000;
const clock = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 16);
/** Two hours of UTC on either side of now. */
const aroundNow = (more: object = {}) => ({ from: clock(-2 * HOUR_MS), to: clock(2 * HOUR_MS), ...more });
/** Where it is the same hour as in UTC, and where it is another half of the day. */
const HERE = 'Africa/Abidjan';
const AWAY = 'Pacific/Fiji';

/** A service that takes everything. */
describeWithDatabase('hours at which nobody is to be reached', (database) => {
  let db: Kysely<CampaignTables>;
  let server: Server;
  let gateway: Gateway;
  const sent: string[] = [];
  const started: number[] = [];

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    server = createServer((request, response) => {
      let text = '';
      request.on('data', (chunk) => (text += chunk));
      request.on('end', () => {
        const isSend = request.url === '/send-msg';
        if (isSend) sent.push((JSON.parse(text) as { to: string }).to);
        const token = { access_token: 't', valid_till: '2099-01-01 00:00:00' };
        response.writeHead(isSend ? 202 : 200, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isSend ? {} : token));
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = { clientId: 'c', clientSecret: 's', apiKey: 'k' };
    gateway = openGateway({ authUrl: url, sendUrl: url, appUrl: url, ...client });
  });
  afterAll(async () => {
    await gateway.close();
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  });
  beforeEach(() => {
    sent.length = 0;
    started.length = 0;
  });

  async function plant(channel: Channel, options: object, places: (string | null)[]): Promise<string> {
    const { runId } = await plantAudience(db, { contacts: places.length, channel });
    for (const [seq, place] of places.entries()) {
      await sql`update recipients set place = ${place} where run_id = ${runId} and seq = ${seq}`.execute(db);
    }
    await setOptions(runId, options);
    return runId;
  }

  const setOptions = (runId: string, options: object) =>
    sql`update campaigns set options = ${JSON.stringify(options)}::jsonb where current_run = ${runId}`.execute(
      db,
    );
  const recipients = (runId: string) =>
    db
      .selectFrom('recipients')
      .select(['state', 'code', 'attempts', 'retry_at'])
      .where('run_id', '=', runId)
      .orderBy('seq')
      .execute();
  const campaignOf = (runId: string) =>
    db
      .selectFrom('runs')
      .select(['workspace_id as workspaceId', 'campaign_id as campaignId'])
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();
  /** The first recipient of calls, at a service that has no message of theirs. */
  async function explain(runId: string) {
    const stories = {
      read: async () => ({ kind: 'told' as const, events: true, held: false, stories: [] }),
    };
    const { workspaceId, campaignId } = await campaignOf(runId);
    const id = recipientId({ runId, channel: 'voice', seq: 0 });
    return createExplanations({ db, stories }).recipient(workspaceId, campaignId, id);
  }
  const inHours = (at: Date | null | undefined) => Math.round(((at?.getTime() ?? 0) - Date.now()) / HOUR_MS);

  function activities() {
    const unused = async () => undefined;
    const signals = {
      startCall: async ({ seq }: { seq: number }) => {
        started.push(seq);
      },
      wakeCall: unused,
      launchRun: unused,
      removeSchedule: unused,
    };
    return createActivities({ db, gatewayFor: () => gateway, signals, log: createLog('silent') });
  }
  const sendPage = (runId: string): Promise<SendPageOutcome> =>
    new MockActivityEnvironment().run(activities().sender.sendPage, {
      runId,
      channel: 'sms' as const,
      shard: 0,
      lane: 0,
      size: 100,
    });
  const startCalls = (runId: string): Promise<StartCallsOutcome> =>
    new MockActivityEnvironment().run(activities().voice.startCalls, { runId, shard: 0 });
  const placeCall = (runId: string, seq: number): Promise<PlaceCallOutcome> =>
    new MockActivityEnvironment().run(activities().voice.placeCall, { runId, seq, attempt: 1, from: 1 });

  const wakeOf = async (runId: string) =>
    (await db.selectFrom('runs').select('launch_at').where('id', '=', runId).executeTakeFirst())?.launch_at;

  test('leave those waiting whose zones do not allow it, which is no attempt, and send to the others', async () => {
    const options = { delivery: { quietHours: aroundNow({ timezone: 'recipient' }) } };
    const runId = await plant('sms', options, [HERE, AWAY, HERE]);
    const idle = await sendPage(runId);
    expect(sent).toHaveLength(1);
    const rows = await recipients(runId);
    // The shard is woken at that time, and wakes by itself somewhat later.
    expect(await wakeOf(runId)).toEqual(rows[0]?.retry_at);
    const waitMs = idle.kind === 'idle' && idle.waitMs ? idle.waitMs : 0;
    const until = Date.now() + waitMs - (rows[0]?.retry_at?.getTime() ?? 0);
    expect(Math.abs(until - LIMITS.plannedGraceMs)).toBeLessThan(5_000);
    expect(rows.map(({ state, code, attempts }) => [state, code, attempts])).toEqual([
      ['waiting', 'quiet_hours', 0],
      ['pending', null, 0],
      ['waiting', 'quiet_hours', 0],
    ]);
    expect(inHours(rows[0]?.retry_at)).toBe(2);
    expect((await readCounts(db, runId)).sms).toMatchObject({ waiting: 2, accepted: 1 });
  });

  test('hold at retries, however often the hour comes, until it is over', async () => {
    const runId = await plant('sms', { delivery: { quietHours: aroundNow() } }, [HERE]);
    const retryNow = () =>
      sql`update recipients set retry_at = now() where run_id = ${runId} and retry_at is not null`.execute(
        db,
      );
    await sendPage(runId);
    await retryNow();
    await sendPage(runId);
    expect(sent).toHaveLength(0);
    await setOptions(runId, {});
    await retryNow();
    await sendPage(runId);
    expect(sent).toHaveLength(1);
    expect(await recipients(runId)).toMatchObject([{ state: 'accepted', code: null }]);
  });

  test('are waited for without writing a recipient, if they are the same for all', async () => {
    const options = { delivery: { quietHours: aroundNow({ timezone: 'UTC' }) } };
    const runId = await plant('sms', options, [null, null]);
    const idle = await sendPage(runId);
    expect(idle.kind).toBe('idle');
    expect(Math.round((idle.kind === 'idle' ? (idle.waitMs ?? 0) : 0) / HOUR_MS)).toBe(2);
    expect((await readCounts(db, runId)).sms).toMatchObject({ pending: 2 });
  });

  test('do not delay a shard without recipients left', async () => {
    const runId = await plant('sms', {}, [null]);
    await sendPage(runId);
    await setOptions(runId, { delivery: { quietHours: aroundNow({ timezone: 'UTC' }) } });
    expect(await sendPage(runId)).toEqual({ kind: 'idle' });
  });

  test('do not keep a run from being stopped', async () => {
    const options = { delivery: { quietHours: aroundNow({ timezone: 'UTC' }) } };
    const runId = await plant('sms', options, [null]);
    await sql`update runs set control = 'cancel' where id = ${runId}`.execute(db);
    expect(await sendPage(runId)).toEqual({ kind: 'stopped', control: 'cancel' });
  });

  test('start no call outside of the call window', async () => {
    const options = { voice: { callWindow: aroundNow() } };
    const runId = await plant('voice', options, [HERE, AWAY]);
    expect(await startCalls(runId)).toMatchObject({ kind: 'started', calls: 1 });
    expect(started).toEqual([0]);
    expect(await recipients(runId)).toMatchObject([
      { state: 'pending' },
      { state: 'waiting', code: 'quiet_hours', attempts: 0 },
    ]);
    await sql`update recipients set retry_at = now() where run_id = ${runId} and seq = 1`.execute(db);
    await setOptions(runId, {});
    expect(await startCalls(runId)).toMatchObject({ kind: 'started', calls: 1 });
    expect(started).toEqual([0, 1]);
    expect((await readCounts(db, runId)).voice).toMatchObject({ waiting: 0, sending: 2 });
  });

  test('put a call off at the moment of dialling, without an attempt', async () => {
    const options = { voice: { callWindow: aroundNow() }, delivery: { quietHours: aroundNow() } };
    const runId = await plant('voice', options, [HERE]);
    const later = await placeCall(runId, 0);
    expect(later.kind).toBe('later');
    expect(await recipients(runId)).toMatchObject([{ state: 'waiting', code: 'quiet_hours', attempts: 0 }]);
    expect(await db.selectFrom('calls').select('seq').where('run_id', '=', runId).execute()).toEqual([]);
    await setOptions(runId, { voice: { callWindow: aroundNow() } });
    // The stub tells no events: a call that it took is over for us.
    expect(await placeCall(runId, 0)).toEqual({ kind: 'over' });
    expect(sent).toHaveLength(1);
  });

  test('do not keep a call of a canceled run waiting', async () => {
    const runId = await plant('voice', { delivery: { quietHours: aroundNow() } }, [HERE]);
    await sql`update runs set control = 'cancel' where id = ${runId}`.execute(db);
    expect(await placeCall(runId, 0)).toEqual({ kind: 'stopped', control: 'cancel' });
  });

  test('leave a message in doubt, so that a canceled campaign asks the service for it', async () => {
    const runId = await plant('sms', { delivery: { quietHours: aroundNow() } }, [HERE]);
    await sql`update recipients set state = 'waiting', code = 'answer_lost', retry_at = now() where run_id = ${runId}`.execute(
      db,
    );
    await sql`update shards set next_seq = 1 where run_id = ${runId}`.execute(db);
    await sendPage(runId);
    const [row] = await recipients(runId);
    expect(row).toMatchObject({ state: 'waiting', code: 'answer_lost' });
    expect(inHours(row?.retry_at)).toBe(2);
    await cancelUnsent(db, runId);
    expect(await recipients(runId)).toMatchObject([{ state: 'accepted' }]);
  });

  test.each([
    ['is canceled', (runId: string) => cancelUnsent(db, runId)],
    [
      'ends in a stop',
      async (runId: string) => expireStopped(db, (await campaignOf(runId)).workspaceId, () => true),
    ],
  ])('leave a call that may be in the air to be asked about when its campaign %s', async (_, end) => {
    const runId = await plant('voice', {}, [AWAY]);
    await sql`update shards set next_seq = 1 where run_id = ${runId}`.execute(db);
    await sql`update runs set phase = 'running' where id = ${runId}`.execute(db);
    await openCall(db, { runId, seq: 0, attempt: 1 });
    await setOptions(runId, {
      voice: { callWindow: aroundNow() },
      schedule: { endAt: new Date(Date.now() + HOUR_MS).toISOString() },
    });
    expect(await placeCall(runId, 0)).toMatchObject({ kind: 'later' });
    expect((await explain(runId)).next).toMatchObject({ why: 'window' });
    await setOptions(runId, { schedule: { endAt: new Date(Date.now() - 1_000).toISOString() } });
    await end(runId);
    expect(await recipients(runId)).toMatchObject([{ state: 'sending', attempts: 1 }]);
  });

  describe('of a call window that closes before a redial', () => {
    /** Busy just now, and called again in three hours by the table; the window closes in two. */
    async function busy(options: object): Promise<string> {
      const runId = await plant('voice', {}, [HERE]);
      await openCall(db, { runId, seq: 0, attempt: 1 });
      await setOptions(runId, { voice: { callWindow: aroundNow() }, ...options });
      await new MockActivityEnvironment().run(activities().voice.recordCall, {
        ...{ runId, seq: 0, attempt: 1, latest: 'busy' as const },
        step: { kind: 'redial' as const, afterSeconds: 3 * 3_600 },
      });
      return runId;
    }

    test('make it due when the window opens again', async () => {
      const runId = await busy({});
      const [row] = await recipients(runId);
      expect(row).toMatchObject({ state: 'waiting', attempts: 1 });
      expect(inHours(row?.retry_at)).toBe(22);
      const { next } = await explain(runId);
      expect(next).toMatchObject({ why: 'window', at: row?.retry_at });
    });

    test('end the recipient if their time is over by then', async () => {
      const runId = await busy({ delivery: { expireAfterSeconds: 6 * 3_600 } });
      expect(await recipients(runId)).toMatchObject([{ state: 'expired', code: 'expired', attempts: 1 }]);
    });
  });

  describe('end a recipient whose time is over before the next hour', () => {
    const ended = [{ state: 'expired', code: 'expired', attempts: 0, retry_at: null }];

    test.each(['recipient', 'UTC'])('by the clocks of %s', async (timezone) => {
      const quietHours = aroundNow({ timezone });
      const inAnHour = { delivery: { quietHours, expireAfterSeconds: 3_600 } };
      const runId = await plant('sms', inAnHour, [HERE]);
      expect(await sendPage(runId)).toEqual({ kind: 'idle' });
      expect(await recipients(runId)).toEqual(ended);
      const inThreeHours = { delivery: { quietHours, expireAfterSeconds: 3 * 3_600 } };
      const waits = await plant('sms', inThreeHours, [HERE]);
      await sendPage(waits);
      // Hours that are the same for all put off the page and not each recipient.
      const putOff = timezone === 'UTC' ? { state: 'pending' } : { state: 'waiting', code: 'quiet_hours' };
      expect(await recipients(waits)).toMatchObject([putOff]);
      expect(sent).toEqual([]);
    });

    test('of a message in doubt as unknown', async () => {
      const quietHours = aroundNow();
      const runId = await plant('sms', { delivery: { quietHours, expireAfterSeconds: 3_600 } }, [HERE]);
      await sql`update recipients set state = 'waiting', code = 'answer_lost', retry_at = now() where run_id = ${runId}`.execute(
        db,
      );
      await sql`update shards set next_seq = 1 where run_id = ${runId}`.execute(db);
      await sendPage(runId);
      expect(await recipients(runId)).toMatchObject([{ state: 'unknown', code: 'answer_lost' }]);
    });

    test('of a call, before its workflow and in it', async () => {
      const options = { voice: { callWindow: aroundNow() }, schedule: { endAt: inAnHour() } };
      const first = await plant('voice', options, [AWAY]);
      await startCalls(first);
      expect(started).toEqual([]);
      expect(await recipients(first)).toEqual(ended);
      const redialled = await plant('voice', options, [AWAY]);
      expect(await placeCall(redialled, 0)).toEqual({ kind: 'over' });
      expect(await recipients(redialled)).toEqual(ended);
    });

    test('unless the call may be in the air', async () => {
      const runId = await plant('voice', {}, [AWAY]);
      await openCall(db, { runId, seq: 0, attempt: 1 });
      await setOptions(runId, { voice: { callWindow: aroundNow() }, schedule: { endAt: inAnHour() } });
      expect(await placeCall(runId, 0)).toMatchObject({ kind: 'later' });
    });

    const inAnHour = () => new Date(Date.now() + HOUR_MS).toISOString();
  });
});
