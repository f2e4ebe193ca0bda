/** Proves how long records are kept, and that messages still to be sent stay. */

import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { createLog } from '../../src/log';
import { keepRetention } from '../../src/messaging/retention';
import { startPeriodicCleanup } from '../../src/storage/periodic-cleanup';
import type { Storage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { allEvents, createOutboxRig, type OutboxRig, type TestProcess } from './outbox-rig';

const DAY_MS = 86_400_000;

test('a sweep leaves three quarters of its time to others', async () => {
  const stepMs = 40;
  let left = 3;
  const step = async () => {
    await delay(stepMs);
    return left > 0 ? left-- : 0;
  };
  const cleanup = startPeriodicCleanup({ steps: () => [step], onFailed: () => undefined });
  const startedAt = performance.now();
  await cleanup.sweep();
  cleanup.stop();
  expect(left).toBe(0);
  // Three steps with a rest each, and one that finds nothing. Timers may be a millisecond early.
  expect(performance.now() - startedAt).toBeGreaterThan(3 * 4 * stepMs + stepMs - 20);
});

test('a step that fails keeps none of the others from their rows, and the sweep says so', async () => {
  let left = 3;
  const refused = new Error('refused');
  const steps = [() => Promise.reject(refused), async () => (left > 0 ? left-- : 0)];
  const cleanup = startPeriodicCleanup({ steps: () => steps, onFailed: () => undefined });
  await expect(cleanup.sweep()).rejects.toBe(refused);
  cleanup.stop();
  expect(left).toBe(0);
});

describeWithDatabase('records of messages', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let one: TestProcess;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    one = await rig.process();
  });
  afterEach(() => rig.stop());

  async function sweepInDays(ahead: number, days: number | undefined) {
    const retention = keepRetention({
      db: rig.db,
      days,
      log: createLog('silent'),
      now: () => Date.now() + ahead * DAY_MS,
    });
    await retention.sweep();
    retention.stop();
  }
  const accept = (...messages: ReturnType<OutboxRig['sms']>[]) =>
    one.delivery.acceptMany(rig.workspaceId, messages);
  const untilState = (uid: string, wanted: string) =>
    until(`${uid} is ${wanted}`, async () => (await rig.states())[uid] === wanted);

  test('are kept for ever unless a number of days is set, and then as long as that', async () => {
    await accept(rig.sms('m1'));
    await untilState('m1', 'sent');
    await sweepInDays(4_000, undefined);
    await sweepInDays(29, 30);
    expect(await rig.states()).toEqual({ m1: 'sent' });
    await sweepInDays(31, 30);
    expect(await rig.states()).toEqual({});
    await expect(one.delivery.track(rig.workspaceId, 'm1')).rejects.toMatchObject({ code: 'not_found' });
    // What was forgotten is a new message.
    const [again] = await accept(rig.sms('m1'));
    expect(again).toMatchObject({ ok: true, answer: { duplicate: false } });
    await untilState('m1', 'sent');
  });

  test('of what subscribers wrote, and of mailboxes that were full, go when they count no more', async () => {
    await one.delivery.inboundOf('scripted')([{ id: 'in-1', from: '+12025550123', to: '7', text: 'hello' }]);
    await sql`
      insert into soft_bounces (workspace_id, address, message_id, day)
      values (${rig.workspaceId}, 'a@example.com', 'msg_1', current_date)
    `.execute(rig.db);
    const left = async () => [
      (await rig.db.selectFrom('inbound_messages').select('id').execute()).length,
      (await rig.db.selectFrom('soft_bounces').select('day').execute()).length,
    ];
    await sweepInDays(28, undefined);
    expect(await left()).toEqual([1, 1]);
    await sweepInDays(32, undefined);
    expect(await left()).toEqual([0, 0]);
  });

  test('of blocks that were lifted go with the messages, as many days after', async () => {
    const lifted = { workspace_id: rig.workspaceId, channel: 'sms' as const, sender: '', reason: 'asked' };
    const at = new Date();
    await rig.db
      .insertInto('lifted_suppressions')
      .values({
        ...lifted,
        id: 'l1',
        address: 'a',
        source: 'api',
        blocked_at: at,
        lifted_at: at,
        lifted_by: 'api',
      })
      .execute();
    const left = async () => (await rig.db.selectFrom('lifted_suppressions').select('id').execute()).length;
    await sweepInDays(4_000, undefined);
    await sweepInDays(29, 30);
    expect(await left()).toBe(1);
    await sweepInDays(31, 30);
    expect(await left()).toBe(0);
  });

  test('are kept while they are to be sent, and after a late receipt', async () => {
    await one.delivery.hold(rig.workspaceId, 'c1');
    const sendAt = new Date(Date.now() + 300 * DAY_MS).toISOString();
    await accept(rig.sms('held', { campaign: 'c1' }), rig.sms('later', { sendAt }), rig.sms('late'));
    await untilState('late', 'sent');
    await sql`update messages set updated_at = now() + interval '20 days' where uid = 'late'`.execute(rig.db);
    await sweepInDays(31, 30);
    expect(await rig.states()).toEqual({ held: 'accepted', later: 'scheduled', late: 'sent' });
    await sweepInDays(51, 30);
    expect(await rig.states()).toEqual({ held: 'accepted', later: 'scheduled' });
  });

  test('more than one step of them is cleared away', async () => {
    for (const part of ['a', 'b', 'c']) {
      await accept(...Array.from({ length: 800 }, (_, i) => rig.sms(`${part}${i}`)));
    }
    await until('all are sent', () => one.sms.taken.length === 2_400);
    await until('all are recorded', async () =>
      Object.values(await rig.states()).every((state) => state === 'sent'),
    );
    await sweepInDays(2, 1);
    expect(await rig.states()).toEqual({});
  });

  test('a reader of the feed whose position was deleted gets an error, and one at its end does not', async () => {
    const read = (after?: string, limit = 1_000) =>
      one.delivery.readEvents(rig.workspaceId, { after, limit, waitSeconds: 0 });
    await accept(rig.sms('m1'), rig.sms('m2'), rig.sms('m3'));
    await until('all is told', async () => (await allEvents(one.delivery, rig.workspaceId)).length === 6);
    const early = await read(undefined, 2);
    const end = await read();
    await sweepInDays(2, 1);
    await expect(read(early.next)).rejects.toMatchObject({ code: 'cursor_expired' });
    expect((await read(end.next)).events).toEqual([]);
    expect((await read()).events).toEqual([]);
    await accept(rig.sms('m4'));
    await until('the new ones are told', async () => (await read(end.next)).events.length === 2);
    expect((await read()).events.map((event) => event.uid)).toEqual(['m4', 'm4']);
  });

  test('a reader whose position is deleted while it is being read gets an error, and not the events after it', async () => {
    await accept(rig.sms('m1'), rig.sms('m2'), rig.sms('m3'));
    await until('all is told', async () => (await allEvents(one.delivery, rig.workspaceId)).length === 6);
    const read = (after?: string, limit = 1_000) =>
      one.delivery.readEvents(rig.workspaceId, { after, limit, waitSeconds: 0 });
    const early = await read(undefined, 2);
    let late: Promise<unknown> = Promise.resolve();
    await rig.db.transaction().execute(async (tx) => {
      await sql`lock table event_log in access exclusive mode`.execute(tx);
      late = read(early.next).catch((error: unknown) => error);
      await delay(300);
      await sql`
        with gone as (delete from event_log where workspace_id = ${rig.workspaceId} returning first_seq + count as next)
        update event_heads set kept_from = (select max(next) from gone)
        where workspace_id = ${rig.workspaceId}`.execute(tx);
    });
    expect(await late).toMatchObject({ code: 'cursor_expired' });
  });

  test('buckets of senders that were not used for a week are forgotten', async () => {
    await one.delivery.senderLimits.put(rig.workspaceId, { channel: 'sms', sender: '12345' }, { rate: 100 });
    await accept(rig.sms('m1'));
    await untilState('m1', 'sent');
    const buckets = () =>
      rig.db
        .selectFrom('sender_buckets')
        .select('sender')
        .where('workspace_id', '=', rig.workspaceId)
        .execute();
    await sweepInDays(6, undefined);
    expect(await buckets()).toEqual([{ sender: '12345' }]);
    await sweepInDays(8, undefined);
    expect(await buckets()).toEqual([]);
  });
});
