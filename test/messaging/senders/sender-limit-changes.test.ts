/** Proves that a sender's new limit holds in every process, whatever is under way when it is set. */
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { addTemplate, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';

/** Every other process has read by then what one has changed. */
const LIMITS_ARE_READ_MS = 2_500;

describeWithDatabase('a sender whose limit changes', (database) => {
  let rig: OutboxRig;
  beforeEach(async () => {
    rig = await createOutboxRig(await database.open());
  });
  afterEach(() => rig.stop());

  const start = () => rig.process();
  const texts = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => rig.sms(`${prefix}${i}`));
  const accept = async (one: TestProcess, messages: ReturnType<OutboxRig['sms']>[]) => {
    for (const outcome of await one.delivery.acceptMany(rig.workspaceId, messages)) {
      if (!outcome.ok) throw outcome.error;
    }
  };
  const untilAllAre = (state: string, limitMs: number) =>
    until(
      `all are ${state}`,
      async () => Object.values(await rig.states()).every((one) => one === state),
      limitMs,
    );

  /** Its bucket is locked meanwhile, so that a process that asks for a token waits. */
  async function whileItAsks(change: () => Promise<unknown>): Promise<void> {
    let free = () => {};
    const freed = new Promise<void>((resolve) => {
      free = resolve;
    });
    let lockedIt = () => {};
    const locked = new Promise<void>((resolve) => {
      lockedIt = resolve;
    });
    const lock = rig.db.transaction().execute(async (tx) => {
      await sql`select from sender_buckets where workspace_id = ${rig.workspaceId} for update`.execute(tx);
      lockedIt();
      await freed;
    });
    try {
      await locked;
      await change();
    } finally {
      free();
      await lock;
    }
  }
  const isAsking = async () => {
    const { rows } = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and query like '%update sender_buckets%'`.execute(
      rig.db,
    );
    return rows.length > 0;
  };

  test('has its new limit also when it changes while another process asks by the former one', async () => {
    const one = await start();
    const two = await start();
    const limit = (rate: number) =>
      one.delivery.senderLimits.put(rig.workspaceId, { channel: 'sms', sender: '12345' }, { rate, burst: 1 });
    await limit(0.001);
    await delay(LIMITS_ARE_READ_MS);
    await accept(two, texts('a', 3));
    await until('one is out', () => two.sms.taken.length === 1);
    await whileItAsks(async () => {
      await limit(0.002);
      await until('it asks', isAsking);
      await limit(1_000);
      await delay(LIMITS_ARE_READ_MS);
    });
    await untilAllAre('sent', 5_000);
  });

  test('has a limit that was set by a process whose clock is behind', async () => {
    const one = await start();
    const two = await start();
    const put = (sender: string, rate: number) =>
      one.delivery.senderLimits.put(rig.workspaceId, { channel: 'sms', sender }, { rate, burst: 1 });
    await put('12345', 0.001);
    // Written by a process whose clock is ahead.
    await put('55555', 5);
    await rig.db
      .updateTable('sender_limits')
      .set({ updated_at: new Date(Date.now() + 60_000) })
      .where('workspace_id', '=', rig.workspaceId)
      .where('sender', '=', '55555')
      .execute();
    await delay(LIMITS_ARE_READ_MS);
    await accept(two, texts('a', 3));
    await until('one is out', () => two.sms.taken.length === 1);
    await put('12345', 1_000);
    await untilAllAre('sent', 5_000);
  });

  test('has the places of calls that ended while it was not limited', async () => {
    const template = await addTemplate(rig.db, rig.workspaceId, { channel: 'voice', body: '<Response/>' });
    const sender = { channel: 'voice' as const, sender: '+12025550100' };
    const call = (uid: string) => ({
      ...rig.sms(uid, { 'template-id': template }),
      channel: sender.channel,
      from: sender.sender,
    });
    const one = await start();
    const limits = one.delivery.senderLimits;
    await limits.put(rig.workspaceId, sender, { concurrentCalls: 1 });
    await accept(one, [call('a')]);
    await until('it is placed', () => one.voice.taken.length === 1);
    await limits.remove(rig.workspaceId, sender);
    await one.voice.report({ id: one.voice.taken[0]?.id, type: 'completed' });
    await limits.put(rig.workspaceId, sender, { concurrentCalls: 1 });
    await accept(one, [call('b')]);
    await until('the next is placed', () => one.voice.taken.length === 2, 5_000);
  });
});
