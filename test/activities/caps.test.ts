/** Proves that a page keeps the workspace’s contact caps: who is sent to, who waits, and what is given back. */

import { MockActivityEnvironment } from '@temporalio/testing';
import { type Kysely, sql } from 'kysely';
import { openCall } from '../../src/campaigns/calls/calls';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { applyEvents, readCursor } from '../../src/campaigns/outcomes/outcomes';
import { forgetContactUses, reserveContact, reserveContacts } from '../../src/campaigns/policy/contact-caps';
import { createPolicies } from '../../src/campaigns/policy/policy';
import { messageUid } from '../../src/domain/ids';
import type { MessageEvent } from '../../src/domain/message';
import { type ContactCap, NO_POLICY } from '../../src/domain/policy';
import type { Gateway } from '../../src/gateway/gateway';
import { newId } from '../../src/storage/new-id';
import { plantAudience } from '../support/audience';
import { reply } from '../support/reply';
import { describeWithDatabase } from '../support/storage';
import { PageRig, StubService } from './page-rig';

const DAY_MS = 86_400_000;
const ONE_A_DAY: ContactCap = { channels: ['sms', 'voice'], max: 1, days: 1 };

describeWithDatabase('caps on messages to an address', (database) => {
  let db: Kysely<CampaignTables>;
  let service: StubService;
  let gateway: Gateway;
  let rig: PageRig;
  let workspaceId: string;

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  beforeEach(async () => {
    service = new StubService();
    service.capabilities = ['idempotent'];
    gateway = await service.start();
    rig = new PageRig(db, gateway);
    workspaceId = newId('wsp');
    await setCaps([ONE_A_DAY]);
  });

  afterEach(async () => {
    await gateway.close();
    await service.stop();
  });

  const setCaps = (caps: ContactCap[]) =>
    createPolicies({ db }).replace(workspaceId, { ...NO_POLICY, caps: caps.length ? caps : null });
  const plant = async (contacts: number, options: Record<string, unknown> = {}) =>
    (await plantAudience(db, { contacts, workspaceId, options })).runId;
  const places = () =>
    db
      .selectFrom('contact_uses')
      .select(['address', 'uids'])
      .where('workspace_id', '=', workspaceId)
      .orderBy('address')
      .execute();
  const uids = async () => (await places()).flatMap((row) => row.uids);
  const ago = (ms: number) =>
    db
      .updateTable('contact_uses')
      .set({ used_at: [new Date(Date.now() - ms).toISOString()], last_at: new Date(Date.now() - ms) })
      .where('workspace_id', '=', workspaceId)
      .execute();

  test('lets each person have one of two campaigns that are sent at once, and the other wait', async () => {
    const runs = [await plant(40), await plant(40)];
    await Promise.all(runs.map((runId) => rig.sendPage(runId)));
    const states = await Promise.all(runs.map((runId) => rig.states(runId)));
    const count = (state: string) => states.reduce((sum, of) => sum + (of[state] ?? 0), 0);
    expect({ accepted: count('accepted'), waiting: count('waiting') }).toEqual({ accepted: 40, waiting: 40 });
    expect(new Set(service.sent.map(({ to }) => to)).size).toBe(40);
    expect(service.sent).toHaveLength(40);
  });

  test('shows who waits for room, until when, and sends when there is some', async () => {
    await rig.sendPage(await plant(1));
    await ago(DAY_MS - 60_000);
    const runId = await plant(1);
    await rig.sendPage(runId);
    const waiting = await rig.recipient(runId, 0);
    expect(waiting).toMatchObject({ state: 'waiting', code: 'frequency_cap', attempts: 0 });
    expect(Math.round((Number(waiting.retry_at) - Date.now()) / 10_000)).toBe(6);
    await ago(DAY_MS + 1_000);
    await rig.passTime(runId);
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 1 });
  });

  test('ends who would wait for longer than the campaign lasts', async () => {
    await rig.sendPage(await plant(2));
    const runId = await plant(2, { delivery: { expireAfterSeconds: 3_600 } });
    await rig.sendPage(runId);
    expect(await rig.recipient(runId, 0)).toMatchObject({
      state: 'expired',
      code: 'frequency_cap',
      attempts: 0,
    });
    expect(await rig.states(runId)).toEqual({ expired: 2 });
  });

  test('does not count what is transactional, nor hold it', async () => {
    await rig.sendPage(await plant(2, { class: 'transactional' }));
    expect(await uids()).toEqual([]);
    await rig.sendPage(await plant(2));
    const runId = await plant(2, { class: 'transactional' });
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toEqual({ accepted: 2 });
  });

  test('asks for nothing when there is no cap on the channel', async () => {
    await setCaps([{ channels: ['email'], max: 1, days: 1 }]);
    for (const runId of [await plant(3), await plant(3)]) {
      await rig.sendPage(runId);
      expect(await rig.states(runId)).toEqual({ accepted: 3 });
    }
    expect(await uids()).toEqual([]);
  });

  test('gives the place back of a message that was refused, and not of one in doubt', async () => {
    service.answer = (uid, response) => {
      if (uid.includes('.sms.0000000.')) reply(response, 422, { code: 'missing_params' });
      else if (uid.includes('.sms.0000001.')) response.destroy();
      else reply(response, 202);
    };
    const runId = await plant(3);
    await rig.sendPage(runId);
    expect(await rig.recipient(runId, 0)).toMatchObject({ state: 'rejected' });
    expect(await uids()).toEqual([
      messageUid({ runId, channel: 'sms', seq: 1 }, 0),
      messageUid({ runId, channel: 'sms', seq: 2 }, 0),
    ]);
  });

  test('gives places back when the service takes nothing', async () => {
    service.answer = (_, response) => reply(response, 503);
    const runId = await plant(2);
    expect(await rig.sendPage(runId)).toMatchObject({ kind: 'backoff' });
    expect(await uids()).toEqual([]);
    service.answer = (_, response) => reply(response, 202);
    await rig.sendPage(runId);
    expect(await uids()).toHaveLength(2);
  });

  test('takes a page over with the places that were taken, and asks for the others', async () => {
    const first = await plant(4);
    const second = await plant(4);
    await rig.dieWhileSending(first, 4);
    // Killed after half of the places were taken; the other half went to somebody else meanwhile.
    const scope = { workspaceId, channel: 'sms' as const, caps: [ONE_A_DAY] };
    const own = [0, 1].map((seq) => ({
      uid: messageUid({ runId: first, channel: 'sms', seq }, 0),
      address: `+1202200000${seq + 1}`,
    }));
    expect((await reserveContacts(db, scope, own)).size).toBe(0);
    await rig.sendPage(second);
    expect(await rig.states(second)).toEqual({ accepted: 2, waiting: 2 });
    await rig.sendPage(first);
    expect(await rig.states(first)).toEqual({ accepted: 2, waiting: 2 });
    expect(service.sent.map(({ to }) => to).sort()).toEqual(
      [1, 2, 3, 4].map((number) => `+1202200000${number}`),
    );
  });

  test('returns the reserved contact of a message that was accepted and never delivered', async () => {
    const runId = await plant(2);
    await rig.sendPage(runId);
    const told = (seq: number, state: string) =>
      ({
        uid: messageUid({ runId, channel: 'sms', seq }, 0),
        channel: 'sms',
        type: state,
        state,
      }) as MessageEvent;
    const page = [told(0, 'expired'), told(1, 'delivered')];
    await applyEvents(db, workspaceId, await readCursor(db, workspaceId), 'a', page);
    expect(await uids()).toEqual([messageUid({ runId, channel: 'sms', seq: 1 }, 0)]);
    expect(await rig.states(runId)).toEqual({ expired: 1, delivered: 1 });
  });

  test('returns the reserved contact of a message that a canceled campaign finds the service never had', async () => {
    service.capabilities = ['idempotent', 'holds'];
    service.cancel = (response) => reply(response, 404);
    const runId = await plant(1);
    await rig.dieWhileSending(runId, 1);
    const place = { uid: messageUid({ runId, channel: 'sms', seq: 0 }, 0), address: '+12022000001' };
    await reserveContacts(db, { workspaceId, channel: 'sms', caps: [ONE_A_DAY] }, [place]);
    expect(await uids()).toEqual([place.uid]);
    await sql`update runs set control = 'cancel' where id = ${runId}`.execute(db);
    await new MockActivityEnvironment().run(rig.orchestrator().cancelRemaining, { runId });
    expect(await rig.recipient(runId, 0)).toMatchObject({ state: 'canceled' });
    expect(await uids()).toEqual([]);
  });

  test('counts per day and per number, calls and messages together', async () => {
    await setCaps([{ channels: ['sms', 'voice'], max: 2, days: 7 }]);
    const ask = (channel: 'sms' | 'voice', uid: string, address = '+12025550123') =>
      reserveContact(db, { workspaceId, channel, address, uid, class: undefined });
    expect(await ask('sms', 'a')).toEqual({ kind: 'go' });
    expect(await ask('voice', 'b')).toEqual({ kind: 'go' });
    expect(await ask('voice', 'b')).toEqual({ kind: 'go' });
    expect(await ask('voice', 'c')).toMatchObject({ kind: 'later' });
    expect(await ask('voice', 'c', '+12025550124')).toEqual({ kind: 'go' });
  });

  test('holds all messages to one address in one chunk to the cap', async () => {
    const scope = {
      workspaceId,
      channel: 'email' as const,
      caps: [{ channels: ['email' as const], max: 2, days: 1 }],
    };
    const wanted = ['A@example.com', 'a@example.com', 'a@EXAMPLE.com'].map((address, i) => ({
      uid: `u${i}`,
      address,
    }));
    expect([...(await reserveContacts(db, scope, wanted)).keys()]).toEqual(['u2']);
  });

  test('forgets addresses without a message for longer than any cap', async () => {
    await rig.sendPage(await plant(1));
    await forgetContactUses(db);
    expect(await uids()).toHaveLength(1);
    await ago(31 * DAY_MS);
    await forgetContactUses(db);
    expect(await places()).toEqual([]);
  });

  test('forgets them in as many steps as they need', async () => {
    await sql`
      insert into contact_uses (workspace_id, address, uids, channels, used_at, last_at)
      select 'forgotten', 'p' || i, '{u}', '{sms}', array[now() - interval '40 days'], now() - interval '40 days'
      from generate_series(1, 25000) i`.execute(db);
    await forgetContactUses(db);
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from contact_uses where workspace_id = 'forgotten'`.execute(db);
    expect(rows).toEqual([{ n: 0 }]);
  });

  test('holds a call over the cap, and dials when there is room', async () => {
    await setCaps([{ channels: ['voice'], max: 1, days: 1 }]);
    const call = async () => (await plantAudience(db, { contacts: 1, channel: 'voice', workspaceId })).runId;
    expect(await rig.placeCall(await call())).toMatchObject({ kind: expect.stringMatching(/placed|over/) });
    const runId = await call();
    const later = await rig.placeCall(runId);
    expect(later).toMatchObject({ kind: 'later' });
    expect(await rig.recipient(runId, 0)).toMatchObject({
      state: 'waiting',
      code: 'frequency_cap',
      attempts: 0,
    });
    await ago(DAY_MS + 1_000);
    expect(await rig.placeCall(runId)).toMatchObject({ kind: expect.stringMatching(/placed|over/) });
    expect(service.uids).toContain(messageUid({ runId, channel: 'voice', seq: 0 }, 1));
  });

  test('gives the place of a call back that a canceled campaign finds the service never had', async () => {
    service.capabilities = ['idempotent', 'events', 'holds'];
    service.cancel = (response) => reply(response, 404);
    const { runId } = await plantAudience(db, { contacts: 1, channel: 'voice', workspaceId });
    const call = { runId, seq: 0, attempt: 1 };
    await openCall(db, call);
    const place = { uid: messageUid({ ...call, channel: 'voice' }, 1), address: '+12022000001' };
    await reserveContacts(db, { workspaceId, channel: 'voice', caps: [ONE_A_DAY] }, [place]);
    await sql`update runs set control = 'cancel' where id = ${runId}`.execute(db);
    expect(await rig.placeCall(runId)).toEqual({ kind: 'stopped', control: 'cancel' });
    expect(service.canceled).toEqual([place.uid]);
    expect(await uids()).toEqual([]);
  });

  test.each([
    ['503', 0],
    ['486', 1],
  ])('counts a call that ended with %s %i times', async (code, times) => {
    service.capabilities = ['idempotent', 'events'];
    const { runId } = await plantAudience(db, { contacts: 1, channel: 'voice', workspaceId });
    expect(await rig.placeCall(runId)).toEqual({ kind: 'placed' });
    const type = code === '503' ? 'failed' : 'busy';
    const uid = messageUid({ runId, channel: 'voice', seq: 0 }, 1);
    const ended = { uid, channel: 'voice', type, state: 'failed', code, at: new Date().toISOString() };
    await applyEvents(db, workspaceId, await readCursor(db, workspaceId), 'a', [ended as MessageEvent]);
    expect(await uids()).toHaveLength(times);
  });

  test.each([
    ['is busy', 503, 'later'],
    ['refuses the account', 401, 'stopped'],
  ])('gives the place of a call back while the service %s', async (_, status, kind) => {
    const { runId } = await plantAudience(db, { contacts: 1, channel: 'voice', workspaceId });
    service.answer = (_uid, response) => reply(response, status);
    expect(await rig.placeCall(runId)).toMatchObject({ kind });
    expect(await uids()).toEqual([]);
  });
});
