/** Proves when a send is tried again, under which uid, and when a recipient has used all attempts. */

import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { messageUid, parseMessageUid } from '../../src/domain/ids';
import type { Gateway } from '../../src/gateway/gateway';
import { plantAudience } from '../support/audience';
import { withClockAhead } from '../support/clock-ahead';
import { reply } from '../support/reply';
import { describeWithDatabase } from '../support/storage';
import { PageRig, StubService } from './page-rig';

describeWithDatabase('retries of a page', (database) => {
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

  const plant = (contacts: number, delivery: Record<string, unknown>) =>
    plantAudience(db, { contacts, options: { delivery } });

  /** Everybody was due so long ago. */
  async function age(runId: string, secondsAgo: number): Promise<void> {
    await db
      .updateTable('recipients')
      .set({ due_at: new Date(Date.now() - secondsAgo * 1000) })
      .where('run_id', '=', runId)
      .execute();
  }

  const refuse = (seq: number) => {
    service.answer = (uid, response) => reply(response, parseMessageUid(uid)?.seq === seq ? 503 : 202);
  };

  test('tries one who is refused again under the same uid, and gives up after the last attempt', async () => {
    const { runId } = await plant(5, { retry: { maxAttempts: 3, initialDelaySeconds: 60, backoff: 2 } });
    refuse(2);
    await rig.sendPage(runId);
    const first = await rig.recipient(runId, 2);
    expect(first).toMatchObject({ state: 'waiting', code: 'dependency_down', attempt: 0, attempts: 1 });
    const delay = (Number(first.retry_at) - Date.now()) / 1000;
    expect(delay).toBeGreaterThan(50);
    expect(delay).toBeLessThan(73);
    for (const attempts of [2, 3]) {
      await rig.passTime(runId);
      expect(await rig.sendPage(runId)).toMatchObject({ kind: 'idle' });
      expect(await rig.recipient(runId, 2)).toMatchObject({ attempt: 0, attempts });
    }
    expect(await rig.recipient(runId, 2)).toMatchObject({ state: 'failed', code: 'attempts_exhausted' });
    expect(await rig.states(runId)).toEqual({ accepted: 4, failed: 1 });
    expect(new Set(service.uids).size).toBe(5);
  });

  test('counts no attempt when a lower rate is asked for, and waits as long as asked', async () => {
    const { runId } = await plant(3, { retry: { maxAttempts: 2, initialDelaySeconds: 1 } });
    service.answer = (uid, response) =>
      uid.includes('.sms.0000001.')
        ? reply(response, 429, { code: 'outbox_full' }, { 'retry-after': '300' })
        : reply(response, 202);
    await rig.sendPage(runId);
    const waiting = await rig.recipient(runId, 1);
    expect(waiting).toMatchObject({ state: 'waiting', code: 'outbox_full', attempts: 0 });
    expect(Number(waiting.retry_at) - Date.now()).toBeGreaterThan(290_000);
  });

  test('counts no attempt of those who wait for a service that takes nothing', async () => {
    const { runId } = await plant(3, { retry: { maxAttempts: 2, initialDelaySeconds: 1 } });
    service.answer = (_, response) => reply(response, 503);
    for (let i = 0; i < 4; i++) expect(await rig.sendPage(runId)).toMatchObject({ kind: 'backoff' });
    service.answer = (_, response) => reply(response, 202);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 3 });
  });

  test('sends anew, as another message, what is in doubt when asked to, as often as the policy says', async () => {
    const { runId } = await plant(3, { onUnknown: 'resend', retry: { maxAttempts: 2 } });
    service.answer = (uid, response) =>
      uid.includes('.sms.0000001.') ? response.destroy() : reply(response, 202);
    await rig.sendPage(runId);
    expect(await rig.recipient(runId, 1)).toMatchObject({
      state: 'waiting',
      code: 'answer_lost',
      attempt: 1,
      attempts: 1,
      doubts: [0],
    });
    await rig.passTime(runId);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 2, unknown: 1 });
    expect(service.uids.filter((uid) => uid.includes('.sms.0000001.'))).toEqual([
      messageUid({ runId, channel: 'sms', seq: 1 }, 0),
      messageUid({ runId, channel: 'sms', seq: 1 }, 1),
    ]);
  });

  test('sends anew what a dead attempt left in doubt when asked to', async () => {
    const { runId } = await plant(10, { onUnknown: 'resend' });
    await rig.dieWhileSending(runId, 4);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 6, waiting: 4 });
    await rig.passTime(runId);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 10 });
    expect(service.uids.slice(6).sort()).toEqual(
      [0, 1, 2, 3].map((seq) => messageUid({ runId, channel: 'sms', seq }, 1)),
    );
  });

  test('does not send to those whose time is over', async () => {
    const { runId } = await plant(3, { expireAfterSeconds: 60 });
    await age(runId, 61);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ expired: 3 });
    expect(await rig.recipient(runId, 0)).toMatchObject({ code: 'expired', attempts: 0 });
    expect(service.sent).toEqual([]);
  });

  test('ends no recipient early because its own clock is ahead', async () => {
    const { runId } = await plant(3, { expireAfterSeconds: 60 });
    await withClockAhead(300_000, () => rig.sendPage(runId));
    expect(await rig.states(runId)).toEqual({ accepted: 3 });
  });

  test('sends also where its own clock is behind', async () => {
    const { runId } = await plant(3, { expireAfterSeconds: 60 });
    await withClockAhead(-300_000, () => rig.sendPage(runId));
    expect(await rig.states(runId)).toEqual({ accepted: 3 });
  });

  test('lets no recipient wait for a retry beyond their time', async () => {
    const { runId } = await plant(3, { expireAfterSeconds: 60, retry: { initialDelaySeconds: 120 } });
    refuse(0);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 2, expired: 1 });
  });

  test('asks for what may have been sent once more, also when its time is over', async () => {
    service.capabilities = ['idempotent'];
    const { runId } = await plant(10, { expireAfterSeconds: 60 });
    await rig.dieWhileSending(runId, 4);
    await age(runId, 61);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 4, expired: 6 });
  });

  test('sends the expiry of a message only to a service of our kind', async () => {
    const plain = await plant(1, { expireAfterSeconds: 60 });
    await rig.sendPage(plain.runId);
    expect(service.sent[0]).not.toHaveProperty('expiresAt');
    await gateway.close();
    await service.stop();
    service = new StubService();
    service.capabilities = ['idempotent'];
    gateway = await service.start();
    rig = new PageRig(db, gateway);
    const { runId } = await plant(1, { expireAfterSeconds: 60 });
    await rig.sendPage(runId);
    const { due_at } = await rig.recipient(runId, 0);
    expect(service.sent[0]).toMatchObject({ expiresAt: new Date(due_at.getTime() + 60_000).toISOString() });
  });

  test('stops the run when credentials are refused in the middle, and keeps what was taken', async () => {
    const { runId } = await plant(5, {});
    service.answer = (uid, response) =>
      uid.includes('.sms.0000004.') ? reply(response, 401) : reply(response, 202);
    expect(await rig.sendPage(runId)).toEqual({ kind: 'stopped', control: 'fail' });
    expect(await rig.states(runId)).toEqual({ accepted: 4, waiting: 1 });
    expect(await rig.recipient(runId, 4)).toMatchObject({ attempts: 0 });
  });

  test('refuses no recipient where something else than the service answers, and stops the run when it lasts', async () => {
    const { runId } = await plant(5, { retry: { maxAttempts: 2, initialDelaySeconds: 1 } });
    service.answer = (_, response) => reply(response, 404);
    const clock = jest.spyOn(Date, 'now');
    const start = performance.timeOrigin + performance.now();
    try {
      for (let seconds = 0; seconds < 300; seconds += 50) {
        clock.mockReturnValue(start + seconds * 1_000);
        expect(await rig.sendPage(runId)).toEqual({ kind: 'backoff', waitMs: 10_000 });
      }
      clock.mockReturnValue(start + 300_000);
      expect(await rig.sendPage(runId)).toEqual({ kind: 'stopped', control: 'fail' });
    } finally {
      clock.mockRestore();
    }
    const run = db.selectFrom('runs').select('reason').where('id', '=', runId);
    expect(await run.executeTakeFirst()).toEqual({
      reason: expect.stringMatching(/^service_not_found: .*FANFARE_SEND_URL.*resume/),
    });
    await db.updateTable('runs').set({ control: 'run' }).where('id', '=', runId).execute();
    service.answer = (_, response) => reply(response, 202);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 5 });
  });

  test('tries a recipient who is refused beside others as often as the policy says', async () => {
    const { runId } = await plant(3, { retry: { maxAttempts: 2, initialDelaySeconds: 1 } });
    service.answer = (uid, response) => reply(response, uid.includes('.sms.0000001.') ? 404 : 202);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 2, waiting: 1 });
    await rig.passTime(runId);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 2, failed: 1 });
  });

  test('lets a call wait for a token that something else than the service refuses', async () => {
    const { runId } = await plantAudience(db, { contacts: 1, channel: 'voice' });
    service.token = (response) => reply(response, 404);
    await expect(rig.placeCall(runId)).rejects.toMatchObject({
      type: 'dependency_down',
      nonRetryable: false,
    });
  });

  test('stops the run when no token is given, with no recipient touched', async () => {
    const { runId } = await plant(5, {});
    service.token = (response) => reply(response, 401);
    expect(await rig.sendPage(runId)).toEqual({ kind: 'stopped', control: 'fail' });
    expect(await rig.states(runId)).toEqual({ sending: 5 });
    expect(service.sent).toEqual([]);
  });

  test('leaves a run alone whose owner has paused it when the account is refused', async () => {
    const { runId } = await plant(2, {});
    service.answer = (_, response) => {
      db.updateTable('runs')
        .set({ control: 'pause' })
        .where('id', '=', runId)
        .execute()
        .then(() => reply(response, 401));
    };
    expect(await rig.sendPage(runId)).toEqual({ kind: 'stopped', control: 'pause' });
  });

  test('stops the run when a call is refused with the account, and the call waits', async () => {
    const { runId } = await plantAudience(db, { contacts: 1, channel: 'voice' });
    service.answer = (_, response) => reply(response, 401);
    expect(await rig.placeCall(runId)).toEqual({ kind: 'stopped', control: 'fail' });
    expect(await rig.placeCall(runId)).toEqual({ kind: 'stopped', control: 'fail' });
    expect(await rig.recipient(runId, 0)).toMatchObject({ attempts: 0 });
    await db.updateTable('runs').set({ control: 'run' }).where('id', '=', runId).execute();
    service.answer = (_, response) => reply(response, 202);
    // More is never told by a service without events, so that the call ends with it.
    expect(await rig.placeCall(runId)).toEqual({ kind: 'over' });
    expect(await rig.recipient(runId, 0)).toMatchObject({ state: 'accepted', attempts: 1 });
    expect(await rig.placeCall(runId, 2)).toEqual({ kind: 'over' });
    // Twice with a token that was refused, once for good.
    expect(service.sent).toHaveLength(3);
  });

  test('lets the call of a failed run end when retention has deleted its recipients', async () => {
    const { runId } = await plantAudience(db, { contacts: 1, channel: 'voice' });
    await sql`update runs set phase = 'failed', control = 'fail' where id = ${runId}`.execute(db);
    expect(await rig.placeCall(runId)).toEqual({ kind: 'stopped', control: 'fail' });
    expect(await rig.readCall(runId)).toBeNull();
    await sql`delete from recipients where run_id = ${runId}`.execute(db);
    expect(await rig.placeCall(runId)).toEqual({ kind: 'over' });
    expect(await rig.readCall(runId)).toEqual({ end: 'unknown' });
  });

  test('takes back a call that reaches the service when its run is canceled already', async () => {
    const { runId } = await plantAudience(db, { contacts: 1, channel: 'voice' });
    service.capabilities = ['events', 'holds'];
    service.answer = (_, response) => {
      db.updateTable('runs')
        .set({ control: 'cancel' })
        .where('id', '=', runId)
        .execute()
        .then(() => reply(response, 202));
    };
    // The feed tells that it is canceled.
    expect(await rig.placeCall(runId)).toEqual({ kind: 'placed' });
    expect(service.canceled).toEqual(service.uids);
  });

  describe('asks the service about a call in doubt when its run is canceled', () => {
    async function inDoubt(capabilities: string[]) {
      const { runId } = await plantAudience(db, { contacts: 1, channel: 'voice' });
      service.capabilities = capabilities;
      // The service may have it, and its answer is lost.
      service.answer = (_, response) => response.destroy();
      await rig.placeCall(runId);
      await db.updateTable('runs').set({ control: 'cancel' }).where('id', '=', runId).execute();
      return runId;
    }

    test.each([
      [404, { kind: 'stopped', control: 'cancel' }],
      [200, { kind: 'placed' }],
      [409, { kind: 'placed' }],
    ] as const)('which answers %d', async (status, outcome) => {
      const runId = await inDoubt(['events', 'holds', 'idempotent']);
      service.cancel = (response) => reply(response, status);
      expect(await rig.placeCall(runId)).toEqual(outcome);
      expect(service.canceled).toEqual([messageUid({ runId, channel: 'voice', seq: 0 }, 1)]);
      expect(service.sent).toHaveLength(1);
    });

    test('which cannot tell, or refuses us', async () => {
      const refused = await inDoubt(['events', 'holds', 'idempotent']);
      service.cancel = (response) => reply(response, 403);
      expect(await rig.placeCall(refused)).toEqual({ kind: 'over' });
      expect(await rig.recipient(refused, 0)).toMatchObject({ state: 'unknown', code: 'answer_lost' });
    });

    test('unless its feed has told of the end', async () => {
      const runId = await inDoubt(['events', 'holds', 'idempotent']);
      await db.updateTable('calls').set({ ended_at: new Date() }).where('run_id', '=', runId).execute();
      expect(await rig.placeCall(runId)).toEqual({ kind: 'placed' });
      expect(service.canceled).toEqual([]);
    });

    test('which was never asked for the call', async () => {
      const { runId } = await plantAudience(db, { contacts: 1, channel: 'voice' });
      await db.updateTable('runs').set({ control: 'cancel' }).where('id', '=', runId).execute();
      expect(await rig.placeCall(runId)).toEqual({ kind: 'stopped', control: 'cancel' });
      expect(service.canceled).toEqual([]);
    });
  });

  test('places no call after its time', async () => {
    const { runId } = await plantAudience(db, {
      contacts: 1,
      channel: 'voice',
      options: { delivery: { expireAfterSeconds: 60 } },
    });
    await age(runId, 61);
    expect(await rig.placeCall(runId)).toEqual({ kind: 'over' });
    expect(await rig.recipient(runId, 0)).toMatchObject({ state: 'expired', code: 'expired' });
    expect(service.sent).toEqual([]);
  });
});
