import { sql } from 'kysely';
import { createOutboxCount } from '../../../../src/messaging/outbox/queue/outbox-count';
import { describeWithDatabase } from '../../../support/storage';
import { until } from '../../../support/until';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../../outbox-rig';

describeWithDatabase('the count of an outbox', (database) => {
  let rig: OutboxRig;
  let one: TestProcess;
  beforeEach(async () => {
    rig = await createOutboxRig(await database.open());
    one = await rig.process();
  });
  afterEach(() => rig.stop());

  test('keeps what was accepted and what left while it was read anew', async () => {
    await one.delivery.hold(rig.workspaceId, 'held');
    const count = createOutboxCount(rig.db);
    await count.start();
    const of = { class: 'marketing', channel: 'sms' } as const;
    const undelivered = () => count.depth(rig.workspaceId).marketing.undelivered;
    // This count does not know of them, so that it shows when they have been read.
    const uids = ['a', 'b', 'c', 'd', 'e'];
    await Promise.all(
      uids.map((uid) => one.delivery.accept(rig.workspaceId, rig.sms(uid, { campaign: 'held' }))),
    );
    await rig.db.transaction().execute(async (tx) => {
      await sql`lock table holds in access exclusive mode`.execute(tx);
      count.held();
      await until('it is being read', isWaitingForHolds);
      count.change(rig.workspaceId, of, 4);
      count.change(rig.workspaceId, of, -1);
      count.change(rig.workspaceId, of, 2, Date.now() + 3_000);
    });
    await until('it has been read', () => undelivered() >= 5);
    expect(undelivered()).toBe(8);
    await until('what was scheduled meanwhile has fallen due', () => undelivered() === 10, 4_000);
    count.stop();
  });

  test('has what was being written at the moment of which it is', async () => {
    await one.delivery.hold(rig.workspaceId, 'held');
    await one.delivery.accept(rig.workspaceId, rig.sms('first'));
    await until('it is sent', async () => (await rig.states()).first === 'sent');
    const undelivered = () => one.delivery.outboxDepth(rig.workspaceId).marketing.undelivered;
    let accepting: Promise<unknown> | undefined;
    await rig.db.transaction().execute(async (tx) => {
      await sql`select from event_heads where workspace_id = ${rig.workspaceId} for update`.execute(tx);
      accepting = one.delivery.accept(rig.workspaceId, rig.sms('a', { campaign: 'held' }));
      await until('it counts', () => undelivered() === 1);
      await until('it was counted anew', () => undelivered() === 0, 10_000);
    });
    await accepting;
    await until('the next count has it', () => undelivered() === 1, 10_000);
  });

  test('falls at once when messages are canceled because their person is erased', async () => {
    await one.delivery.hold(rig.workspaceId, 'held');
    const to = '+12025550199';
    const messages = [rig.sms('a', { to }), rig.sms('b', { to }), rig.sms('other')];
    await Promise.all(
      messages.map((message) => one.delivery.accept(rig.workspaceId, { ...message, campaign: 'held' })),
    );
    const undelivered = () => one.delivery.outboxDepth(rig.workspaceId).marketing.undelivered;
    expect(undelivered()).toBe(3);
    const person = { workspaceId: rig.workspaceId, addresses: [to], words: [] };
    expect(await one.delivery.cancelWaiting(person)).toBe(2);
    expect(undelivered()).toBe(1);
  });

  async function isWaitingForHolds(): Promise<boolean> {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
        and query like '%left join holds%'`.execute(rig.db);
    return rows.length > 0;
  }
});
