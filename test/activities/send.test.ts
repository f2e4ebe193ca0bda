/** Proves that sending a page gives each recipient one certain result, whatever the service answers. */

import type { Kysely } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { createStops } from '../../src/campaigns/stops/stops';
import { messageUid } from '../../src/domain/ids';
import { LIMITS } from '../../src/domain/limits';
import type { Gateway } from '../../src/gateway/gateway';
import { createLog } from '../../src/log';
import { plantAudience } from '../support/audience';
import { reply } from '../support/reply';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { PageRig, StubService } from './page-rig';

describeWithDatabase('sending a page', (database) => {
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

  test('settles each recipient by itself', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    service.answer = (uid, response) => {
      if (uid.includes('.sms.0000003.')) reply(response, 422, { code: 'invalid_request' });
      else if (uid.includes('.sms.0000004.')) reply(response, 429, { code: 'throttled' });
      else reply(response, 202);
    };
    expect(await rig.sendPage(runId)).toMatchObject({ kind: 'idle', waitMs: expect.any(Number) });
    expect(await rig.states(runId)).toEqual({ accepted: 8, rejected: 1, waiting: 1 });
    expect(service.uids[0]).toBe(messageUid({ runId, channel: 'sms', seq: 0 }, 0));
  });

  test('offers a slow service nothing within a second of a stop, and the rest once when it has ended', async () => {
    const { runId, workspaceId } = await plantAudience(db, { contacts: 400 });
    const stops = createStops({ db, changed: async () => undefined, log: createLog('silent') });
    const offeredAt: number[] = [];
    service.answer = (_, response) => {
      offeredAt.push(Date.now());
      setTimeout(() => reply(response, 202), 250);
    };
    const sending = rig.sendPage(runId, 400);
    await until('a quarter is offered', () => offeredAt.length >= 100);
    await stops.begin(workspaceId, { by: undefined, reason: 'Wrong price' });
    const answeredAt = Date.now();
    await sending;
    expect(Math.max(...offeredAt)).toBeLessThan(answeredAt + 1_000);
    const before = offeredAt.length;
    expect(before).toBeLessThan(400);
    expect(await rig.states(runId)).toEqual({ accepted: before, waiting: 400 - before });
    expect(await rig.sendPage(runId, 400)).toEqual({ kind: 'stopped', control: 'pause' });

    await stops.end(workspaceId);
    await rig.sendPage(runId, 400);
    expect(await rig.states(runId)).toEqual({ accepted: 400 });
    expect([service.uids.length, new Set(service.uids).size]).toEqual([400, 400]);
    expect(await rig.recipient(runId, 399)).toMatchObject({ attempts: 1 });
  });

  test('sends page after page for as long as one is meant to take', async () => {
    const { runId } = await plantAudience(db, { contacts: 25 });
    expect(await rig.sendPage(runId, 10)).toEqual({ kind: 'idle' });
    expect(await rig.states(runId)).toEqual({ accepted: 25 });
    const pages = await db
      .selectFrom('shards')
      .select('next_page')
      .where('run_id', '=', runId)
      .executeTakeFirstOrThrow();
    expect(pages.next_page).toBe(2);
  });

  test('returns to its workflow after a page that took longer', async () => {
    const { runId } = await plantAudience(db, { contacts: 25 });
    service.answer = (_, response) => {
      setTimeout(() => reply(response, 202), LIMITS.sendRoundFastMs + 100);
    };
    expect(await rig.sendPage(runId, 10)).toMatchObject({ kind: 'sent', size: 10 });
    expect(service.uids).toHaveLength(10);
  });

  test('calls recipients unknown whose answer was lost, where asking again could send twice', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    service.answer = (uid, response) => {
      if (uid.includes('.sms.0000007.')) response.destroy();
      else reply(response, 202);
    };
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 9, unknown: 1 });
    expect(service.uids).toHaveLength(10);
  });

  test('is tried again when a frozen attempt woke up and took the page over, and sends no message twice', async () => {
    service.capabilities = ['idempotent'];
    const { runId } = await plantAudience(db, { contacts: 3 });
    service.answer = async (_, response) => {
      service.answer = (_uid, next) => reply(next, 202);
      await rig.wakeFrozen(runId);
      reply(response, 202);
    };
    await expect(rig.sendPage(runId)).rejects.toMatchObject({ type: 'page_fenced', nonRetryable: false });
    expect(await rig.sendPage(runId)).toEqual({ kind: 'idle' });
    expect(await rig.states(runId)).toEqual({ accepted: 3 });
    expect(new Set(service.uids).size).toBe(3);
  });

  test('asks an idempotent service again, for the same message', async () => {
    service.capabilities = ['idempotent'];
    const { runId } = await plantAudience(db, { contacts: 3 });
    service.answer = (_, response) => {
      response.destroy();
      service.answer = (_uid, next) => reply(next, 202);
    };
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 2, waiting: 1 });
    await rig.passTime(runId);
    expect(await rig.sendPage(runId)).toEqual({ kind: 'idle' });
    expect(await rig.states(runId)).toEqual({ accepted: 3 });
    expect(new Set(service.uids).size).toBe(3);
  });

  test('takes over what a dead attempt left: unknown where it may have been sent, the rest is sent', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    await rig.dieWhileSending(runId, 4);
    expect(await rig.sendPage(runId)).toEqual({ kind: 'idle' });
    expect(await rig.states(runId)).toEqual({ accepted: 6, unknown: 4 });
    expect(service.uids).toHaveLength(6);
  });

  test('takes over at an idempotent service by asking for the very same messages', async () => {
    service.capabilities = ['idempotent'];
    const { runId } = await plantAudience(db, { contacts: 10 });
    await rig.dieWhileSending(runId, 4);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 10 });
    expect(service.uids.sort()).toEqual(
      Array.from({ length: 10 }, (_, seq) => messageUid({ runId, channel: 'sms', seq }, 0)).sort(),
    );
  });

  test('backs off, with no recipient in doubt and no attempt used, when the service takes nothing', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    service.answer = (_, response) => reply(response, 503, {}, { 'retry-after': '3' });
    expect(await rig.sendPage(runId)).toEqual({ kind: 'backoff', waitMs: 3000 });
    service.answer = (_, response) => reply(response, 202);
    expect(await rig.sendPage(runId)).toEqual({ kind: 'idle' });
    expect(await rig.states(runId)).toEqual({ accepted: 10 });
  });

  test('stops the run when the account is refused, and uses no recipient’s attempt', async () => {
    const { runId } = await plantAudience(db, { contacts: 10 });
    service.answer = (_, response) => reply(response, 403, { code: 'forbidden' });
    expect(await rig.sendPage(runId)).toEqual({ kind: 'stopped', control: 'fail' });
    const run = await db.selectFrom('runs').selectAll().where('id', '=', runId).executeTakeFirstOrThrow();
    expect(run).toMatchObject({
      control: 'fail',
      reason: expect.stringMatching(/^invalid_client: .*forbidden/),
    });
    await db.updateTable('runs').set({ control: 'run' }).where('id', '=', runId).execute();
    service.answer = (_, response) => reply(response, 202);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 10 });
    expect(await rig.recipient(runId, 0)).toMatchObject({ attempt: 0, attempts: 0 });
  });

  test('a run whose sender is refused says so, and nothing of credentials', async () => {
    const { runId } = await plantAudience(db, { contacts: 2 });
    service.answer = (_, response) => reply(response, 422, { code: 'sender_not_allowed' });
    expect(await rig.sendPage(runId)).toEqual({ kind: 'stopped', control: 'fail' });
    const { reason } = await db
      .selectFrom('runs')
      .select('reason')
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();
    expect(reason).toMatch(/^sender_not_allowed: .*sender not allowed/);
    expect(reason).not.toMatch(/credentials|account/);
  });
});
