import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { SenderLimits } from '../../../src/domain/sender-limit';
import type { HandOver } from '../../../src/providers/provider';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { endLeases } from '../end-leases';
import { addTemplate, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

/** When each message reached a provider. */
class Clocked extends ScriptedProvider {
  readonly at: { uid: string; from: string; atMs: number }[] = [];

  override handOver(messages: readonly HandOver[]) {
    const atMs = performance.now();
    this.at.push(...messages.map(({ uid, from }) => ({ uid, from, atMs })));
    return super.handOver(messages);
  }
}

/**
 * On a busy machine one message reaches the carrier 0.3 s after it was let go and the next one at once. A full bucket
 * that was not paid for would be 5 messages or more.
 */
const LATE_ON_THE_WAY = 3;

/** The most that left within any window, over what a bucket allows in it. */
function excess(at: readonly { atMs: number }[], { rate, burst }: { rate: number; burst: number }): number {
  const times = at.map((one) => one.atMs).sort((a, b) => a - b);
  let worst = Number.NEGATIVE_INFINITY;
  for (let from = 0; from < times.length; from++) {
    for (let to = from; to < times.length; to++) {
      const seconds = ((times[to] as number) - (times[from] as number)) / 1_000;
      worst = Math.max(worst, to - from + 1 - (rate * seconds + burst));
    }
  }
  return worst;
}

describeWithDatabase('a limited sender', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
  });
  afterEach(() => rig.stop());

  const start = (senderLimits: SenderLimits = {}) =>
    rig.process({ sms: new Clocked('sms'), voice: new Clocked('voice') }, { senderLimits });
  const texts = (prefix: string, count: number, more: Record<string, unknown> = {}) =>
    Array.from({ length: count }, (_, i) => rig.sms(`${prefix}${String(i).padStart(4, '0')}`, more));
  const accept = async (one: TestProcess, messages: ReturnType<OutboxRig['sms']>[]) => {
    for (const outcome of await one.delivery.acceptMany(rig.workspaceId, messages)) {
      if (!outcome.ok) throw outcome.error;
    }
  };
  const untilAllAre = (state: string, limitMs = 20_000) =>
    until(
      `all are ${state}`,
      async () => Object.values(await rig.states()).every((one) => one === state),
      limitMs,
    );
  const clocked = (...processes: TestProcess[]) => processes.flatMap((one) => (one.sms as Clocked).at);

  test('hands over at its rate and in order, however many processes there are', async () => {
    const limit = { rate: 100, burst: 20 };
    const one = await start({ sms: limit });
    const two = await start({ sms: limit });
    const startedAt = performance.now();
    await Promise.all([accept(one, texts('a', 120)), accept(two, texts('b', 120))]);
    await untilAllAre('sent', 45_000);
    const seconds = (performance.now() - startedAt) / 1_000;
    const at = clocked(...new Set([one, two]));
    expect(at).toHaveLength(240);
    // A batch takes its tokens a moment before it is handed over.
    expect(excess(at, limit)).toBeLessThanOrEqual(limit.rate * 0.1);
    // Nor is it needlessly slow; how slow the machine is meanwhile is not known.
    expect(240).toBeGreaterThan((limit.rate * seconds + limit.burst) * 0.1);
    const order = at.filter(({ uid }) => uid.startsWith('a')).map(({ uid }) => uid);
    expect(order).toEqual([...order].sort());
  });

  test('delays neither another sender nor another workspace', async () => {
    const one = await start({ sms: { rate: 5, burst: 5 } });
    await one.delivery.senderLimits.put(rig.workspaceId, { channel: 'sms', sender: '99999' }, {});
    const other = await createOutboxRig(storage);
    // Far more than fits in memory: what is left over waits in the table, and so do those behind it.
    for (let i = 0; i < 6; i++) await accept(one, texts(`slow${i}-`, 1_000));
    await accept(one, texts('free', 50, { from: '99999' }));
    await accept(one, texts('next', 5, { from: '55555' }));
    await one.delivery.accept(other.workspaceId, other.sms('elsewhere'));
    await until('the others are out', () => {
      const from = (sender: string) => clocked(one).filter((message) => message.from === sender).length;
      return from('99999') === 50 && from('55555') === 5 && clocked(one).some((m) => m.uid === 'elsewhere');
    });
    expect(clocked(one).filter(({ uid }) => uid.startsWith('slow')).length).toBeLessThan(100);
    await rig.db.deleteFrom('messages').where('uid', 'like', 'slow%').execute();
    await other.stop();
  });

  test('goes on where it was when its process is gone, and never faster', async () => {
    const limit = { rate: 50, burst: 10 };
    const first = await start({ sms: limit });
    await accept(first, texts('m', 100));
    await until('it has begun', () => clocked(first).length >= 20);
    await first.delivery.stop();
    const second = await start({ sms: limit });
    await untilAllAre('sent');
    const at = clocked(first, second);
    expect(new Set(at.map(({ uid }) => uid)).size).toBe(100);
    expect(at).toHaveLength(100);
    expect(excess(at, limit)).toBeLessThanOrEqual(limit.rate * 0.1);
  });

  test('pays again for what is offered again after a crash', async () => {
    const limit = { rate: 10, burst: 5 };
    const idempotent = () => ({ sms: new Clocked('sms', { idempotent: true }) });
    const first = await rig.process(idempotent(), { senderLimits: { sms: limit } });
    first.sms.script = first.sms.hang;
    await accept(first, texts('m', 7));
    await until('a full bucket is on its way', () => clocked(first).length === 5);
    await endLeases(rig.db);
    const second = await rig.process(idempotent(), { senderLimits: { sms: limit } });
    await untilAllAre('sent');
    const at = clocked(first, second);
    expect(
      clocked(second)
        .map(({ uid }) => uid)
        .sort(),
    ).toEqual(Array.from({ length: 7 }, (_, i) => `m000${i}`));
    expect(excess(at, limit)).toBeLessThanOrEqual(LATE_ON_THE_WAY);
  });

  /** A process that takes over what another one was giving an idempotent carrier when it ended. */
  async function successor(
    limit: { rate: number; burst: number },
    messages: ReturnType<OutboxRig['sms']>[],
    beforehand = async () => {},
  ) {
    const idempotent = () => ({ sms: new Clocked('sms', { idempotent: true }) });
    const first = await rig.process(idempotent(), { senderLimits: { sms: limit } });
    first.sms.script = first.sms.hang;
    await accept(first, messages);
    await until('they are on their way', () => clocked(first).length === messages.length);
    await beforehand();
    await endLeases(rig.db);
    return rig.process(idempotent(), { senderLimits: { sms: limit } });
  }

  test('has its share for what is offered again after a crash, however much else of it waits', async () => {
    const limit = { rate: 5, burst: 10 };
    const second = await successor(limit, texts('old', 10));
    await accept(second, texts('new', 300));
    const old = () => clocked(second).filter(({ uid }) => uid.startsWith('old'));
    await until('they are offered again', () => old().length === 10, 20_000);
    expect(excess(clocked(second), limit)).toBeLessThanOrEqual(LATE_ON_THE_WAY);
    await rig.db.deleteFrom('messages').where('uid', 'like', 'new%').execute();
  });

  test('that has to be silent holds up no other whose messages are offered again after a crash', async () => {
    const both = [...texts('old', 2), ...texts('silent', 2, { from: '55555' })];
    const second = await successor({ rate: 100, burst: 100 }, both, async () => {
      const silent = { paused_until: new Date(Date.now() + 60_000) };
      await rig.db.updateTable('sender_buckets').set(silent).where('sender', '=', '55555').execute();
      // As if they had been opened together, which takes a busier sender than a test has.
      const ids = rig.db
        .selectFrom('messages')
        .where('workspace_id', '=', rig.workspaceId)
        .select(sql<string[]>`array_agg(id order by accepted_seq)`.as('ids'));
      const open = rig.db.selectFrom('handover_batches').select('id').orderBy('id');
      await rig.db.deleteFrom('handover_batches').where('id', 'in', open.offset(1)).execute();
      await rig.db.updateTable('handover_batches').set({ message_ids: ids }).execute();
    });
    await until('the other is offered again', () => clocked(second).length >= 2, 10_000);
    expect(clocked(second).map(({ uid }) => uid)).toEqual(['old0000', 'old0001']);
  });

  test.each(['refused', 'silent'])('is no faster after its account was %s for a while', async (how) => {
    const limit = { rate: 20, burst: 10 };
    const sms = new Clocked('sms', { answersEach: true, parallel: 5, batchMax: 1 });
    const one = await rig.process({ sms }, { senderLimits: { sms: limit } });
    sms.script = () =>
      how === 'silent' ? sms.hang() : { kind: 'account', code: 'http_401', message: 'Wrong key' };
    await accept(one, texts('m', 200));
    await until('it has begun', () => sms.at.length > 0);
    await delay(6_000);
    sms.at.splice(0);
    sms.script = ({ id }) => ({ kind: 'accepted', providerId: `p:${id}` });
    sms.release({ kind: 'accepted', providerId: 'p' });
    await until('some have left', () => clocked(one).length >= 80, 20_000);
    // What was let go before is as much as leaves within a second.
    expect(excess(clocked(one), limit)).toBeLessThanOrEqual(limit.rate);
    await rig.db.deleteFrom('messages').where('uid', 'like', 'm%').execute();
  });

  test('pays for an SMS by its segments', async () => {
    const template = await addTemplate(rig.db, rig.workspaceId, { channel: 'sms', body: 'x'.repeat(400) });
    const one = await start({ sms: { rate: 30, burst: 30 } });
    const startedAt = performance.now();
    await accept(one, texts('m', 20, { 'template-id': template }));
    await untilAllAre('sent');
    // 60 segments of which 30 were there.
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    expect(clocked(one).length).toBe(20);
  });

  test('is not charged for what does not leave', async () => {
    const one = await start({ sms: { rate: 0.001, burst: 3 } });
    await one.delivery.hold(rig.workspaceId, 'c1');
    await accept(one, texts('late', 5, { expiresAt: new Date(Date.now() - 1_000).toISOString() }));
    await accept(one, texts('held', 5, { campaign: 'c1' }));
    await accept(one, texts('m', 3));
    await until('three are sent', () => clocked(one).length === 3);
    expect(clocked(one).map(({ uid }) => uid)).toEqual(['m0000', 'm0001', 'm0002']);
  });

  test('may have a limit of its own, which counts at once and in every process', async () => {
    const one = await start();
    const two = await start();
    const limits = one.delivery.senderLimits;
    await limits.put(rig.workspaceId, { channel: 'sms', sender: '12345' }, { rate: 0.001, burst: 2 });
    await accept(one, texts('a', 5));
    await until('two are out', () => clocked(one).length === 2);
    if (two !== one) {
      let uid = 0;
      await until('the other process knows', async () => {
        const before = clocked(two).length;
        uid += 1;
        await accept(two, [rig.sms(`b${uid}`)]);
        await until('it is settled', async () => {
          const { state } = await two.delivery.track(rig.workspaceId, `b${uid}`);
          return state === 'sent' || state === 'accepted';
        });
        return clocked(two).length === before;
      });
    }
    await limits.remove(rig.workspaceId, { channel: 'sms', sender: '12345' });
    await untilAllAre('sent');
  });

  test('is left in peace for as long as its provider asks, and the others go on', async () => {
    const one = await start();
    let refusals = 0;
    one.sms.script = (message) => {
      if (message.from !== '12345' || refusals > 0) return { kind: 'accepted', providerId: message.id };
      refusals += 1;
      return { kind: 'throttled', retryAfterMs: 700 };
    };
    await accept(one, texts('a', 1));
    await until('it was refused', () => refusals === 1);
    const refusedAt = performance.now();
    await accept(one, texts('b', 3));
    await accept(one, texts('c', 3, { from: '55555' }));
    await untilAllAre('sent');
    const at = clocked(one);
    const waited = at.filter(({ uid }) => uid.startsWith('b')).map(({ atMs }) => atMs - refusedAt);
    expect(Math.min(...waited)).toBeGreaterThan(600);
    const others = at.filter(({ uid }) => uid.startsWith('c')).map(({ atMs }) => atMs - refusedAt);
    expect(Math.max(...others)).toBeLessThan(600);
  });

  test('has no more calls under way than it may, until one ends', async () => {
    const template = await addTemplate(rig.db, rig.workspaceId, { channel: 'voice', body: '<Response/>' });
    const call = (uid: string) => ({
      ...rig.sms(uid, { 'template-id': template }),
      channel: 'voice' as const,
      from: '+12025550100',
    });
    const one = await start({ voice: { concurrentCalls: 2 } });
    one.voice.script = (message) =>
      message.uid === 'v1'
        ? { kind: 'rejected', code: 'no', message: 'no' }
        : { kind: 'accepted', providerId: message.id };
    await accept(one, ['v1', 'v2', 'v3', 'v4', 'v5'].map(call));
    await until('two are under way', () => one.voice.taken.length === 3);
    expect(one.voice.uids()).toEqual(['v1', 'v2', 'v3']);
    const [, second, third] = one.voice.taken;
    await one.voice.report({ id: second?.id, type: 'answered' });
    await one.voice.report({ id: third?.id, type: 'busy' });
    await until('the next is placed', () => one.voice.taken.length === 4);
    await one.voice.report({ id: second?.id, type: 'completed' });
    await until('the last is placed', () => one.voice.taken.length === 5);
    expect(one.voice.uids()).toEqual(['v1', 'v2', 'v3', 'v4', 'v5']);
  });

  test('has the places back of calls that were canceled or held before they left', async () => {
    const template = await addTemplate(rig.db, rig.workspaceId, { channel: 'voice', body: '<Response/>' });
    const call = (uid: string, campaign?: string) => ({
      ...rig.sms(uid, { 'template-id': template, campaign }),
      channel: 'voice' as const,
      from: '+12025550100',
    });
    const voice = new Clocked('voice', { answersEach: true, parallel: 1, batchMax: 1 });
    const one = await rig.process({ voice }, { senderLimits: { voice: { concurrentCalls: 3 } } });
    voice.script = ({ uid }) =>
      uid === 'first' ? voice.hang() : { kind: 'accepted', providerId: `p:${uid}` };
    await accept(one, [call('first')]);
    await until('the carrier has one', () => voice.uids().length === 1);
    await accept(one, [call('canceled'), call('held', 'c1')]);
    const bucket = rig.db
      .selectFrom('sender_buckets')
      .select('calls')
      .where('workspace_id', '=', rig.workspaceId);
    const places = async () => Object.keys((await bucket.executeTakeFirstOrThrow()).calls);
    await until('the others may be placed', async () => (await places()).length === 3);
    await one.delivery.cancel(rig.workspaceId, 'canceled');
    await one.delivery.hold(rig.workspaceId, 'c1');
    voice.release({ kind: 'rejected', code: 'no', message: 'no' });
    await accept(one, [call('a'), call('b'), call('c')]);
    await until('three are placed', () => voice.uids().length === 4);
    expect(voice.uids()).toEqual(['first', 'a', 'b', 'c']);
  });

  test('counts calls also that another process has settled before their answers came', async () => {
    const template = await addTemplate(rig.db, rig.workspaceId, { channel: 'voice', body: '<Response/>' });
    const call = (uid: string) => ({
      ...rig.sms(uid, { 'template-id': template }),
      channel: 'voice' as const,
      from: '+12025550100',
    });
    const first = await start({ voice: { concurrentCalls: 2 } });
    first.voice.script = first.voice.hang;
    await accept(first, [call('a'), call('b')]);
    await until('two are under way', () => first.voice.taken.length === 2);
    await endLeases(rig.db);
    const second = await start({ voice: { concurrentCalls: 2 } });
    await untilAllAre('unknown');
    first.voice.release({ kind: 'accepted', providerId: 'p' });
    await untilAllAre('sent');
    await accept(second, [call('c')]);
    await delay(1_500);
    expect(second.voice.uids()).toEqual([]);
    await second.voice.report({ id: first.voice.taken[0]?.id, type: 'completed' });
    await until('the next is placed', () => second.voice.taken.length === 1);
  });

  test('is asked about in the database only when it is limited', async () => {
    const one = await start();
    await accept(one, texts('m', 100));
    await untilAllAre('sent');
    const buckets = await rig.db
      .selectFrom('sender_buckets')
      .selectAll()
      .where('workspace_id', '=', rig.workspaceId)
      .execute();
    expect(buckets).toEqual([]);
  });
});
