import { stoppedWorkspaces } from '../../../src/campaigns/stops/stops';
import { noteUnwanted } from '../../../src/messaging/outbox/cancel';
import { openGroup } from '../../../src/messaging/outbox/deliver/groups';
import { readWaiting } from '../../../src/messaging/outbox/queue/due-messages';
import type { HandOverResult } from '../../../src/providers/provider';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { addTemplate, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

describeWithDatabase('canceling', (database) => {
  let rig: OutboxRig;
  let one: TestProcess;
  beforeAll(async () => {
    rig = await createOutboxRig(await database.open());
    one = await rig.process();
  });
  afterAll(() => rig.stop());

  const accept = (...messages: Parameters<typeof one.delivery.accept>[1][]) =>
    Promise.all(messages.map((message) => one.delivery.accept(rig.workspaceId, message)));

  test('a scheduled message is canceled for good, and again without harm', async () => {
    await accept(rig.sms('s1', { sendAt: new Date(Date.now() + 60_000).toISOString() }));
    expect(await one.delivery.cancel(rig.workspaceId, 's1')).toMatchObject({ state: 'canceled' });
    const again = await one.delivery.cancel(rig.workspaceId, 's1');
    expect(again.events.map((event) => event.type)).toEqual(['scheduled', 'canceled']);
    const [repeat] = await accept(rig.sms('s1', { sendAt: again.sendAt }));
    expect(repeat).toMatchObject({ duplicate: true, state: 'canceled' });
  });

  test('a message that is with the provider, or was, cannot be canceled', async () => {
    const provider = one.sms;
    provider.script = provider.hang;
    await accept(rig.sms('c1'));
    await until('it is on its way', () => provider.uids().includes('c1'));
    await expect(one.delivery.cancel(rig.workspaceId, 'c1')).rejects.toMatchObject({
      code: 'not_cancelable',
    });
    provider.script = (message) => ({ kind: 'accepted', providerId: message.id });
    provider.release();
    await until('it is recorded', async () => (await rig.states()).c1 !== 'accepted');
    await expect(one.delivery.cancel(rig.workspaceId, 'c1')).rejects.toMatchObject({
      code: 'not_cancelable',
    });
    await expect(one.delivery.cancel(rig.workspaceId, 'none')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a message that its provider gives back is canceled if a cancel came too late, and the others of its group wait', async () => {
    const provider = one.sms;
    provider.script = provider.hang;
    const uids = ['back', 'kept-back', 'stays', 'taken'];
    await one.delivery.acceptMany(
      rig.workspaceId,
      uids.map((uid) => rig.sms(uid)),
    );
    await until('all are on their way', () => uids.every((uid) => provider.uids().includes(uid)));
    for (const uid of ['back', 'kept-back', 'taken']) {
      const canceling = one.delivery.cancel(rig.workspaceId, uid);
      await expect(canceling).rejects.toMatchObject({ code: 'not_cancelable' });
    }
    provider.script = (message) => ({ kind: 'accepted', providerId: message.id });
    const order = provider.taken.slice(-uids.length).map(({ uid }) => uid);
    const answers: Record<string, HandOverResult> = {
      back: { kind: 'transient', code: 'http_503' },
      'kept-back': { kind: 'stayed' },
      stays: { kind: 'transient', code: 'http_503' },
      taken: { kind: 'accepted', providerId: 'p' },
    };
    provider.releaseEach(order.map((uid) => answers[uid] ?? { kind: 'unknown' }));
    await until('the one that was not canceled is sent', async () => (await rig.states()).stays === 'sent');
    expect(await rig.states()).toMatchObject({
      back: 'canceled',
      'kept-back': 'canceled',
      taken: 'sent',
    });
    expect(provider.uids().filter((uid) => uid === 'back')).toEqual(['back']);
    const { events } = await one.delivery.track(rig.workspaceId, 'back');
    expect(events.map(({ type }) => type)).toEqual(['accepted', 'canceled']);
    expect(await rig.db.selectFrom('handover_batches').select('id').execute()).toEqual([]);
  });

  describe('a message of which an idempotent carrier’s answer was lost', () => {
    const LOST: HandOverResult = { kind: 'transient', code: 'timeout', retryAfterMs: 60_000, inDoubt: true };
    let carrier: ScriptedProvider;
    let two: TestProcess;
    beforeAll(async () => {
      carrier = new ScriptedProvider('sms', { idempotent: true });
      two = await rig.process({ sms: carrier });
    });

    const lose = async (uid: string, more?: Record<string, unknown>) => {
      await two.delivery.accept(rig.workspaceId, rig.sms(uid, more));
      await until('it waits for its next try', async () => {
        const { state, code, attempt } = await two.delivery.track(rig.workspaceId, uid);
        return state === 'accepted' && code === 'timeout' && attempt === 1;
      });
    };
    const endOf = async (uid: string) => {
      const { state, code, events } = await two.delivery.track(rig.workspaceId, uid);
      return { state, code, events: events.map(({ type }) => type) };
    };
    const UNKNOWN = { state: 'unknown', code: 'answer_lost', events: ['accepted', 'unknown'] };

    test('is unknown after its cancel, and not given to it again', async () => {
      carrier.script = () => LOST;
      await lose('d1');
      for (const _ of [1, 2]) {
        await expect(two.delivery.cancel(rig.workspaceId, 'd1')).rejects.toMatchObject({
          code: 'not_cancelable',
        });
      }
      expect(await endOf('d1')).toEqual(UNKNOWN);
      expect(carrier.uids()).toEqual(['d1']);
    });

    test('is unknown after its cancel also where the carrier refused it for the moment since', async () => {
      carrier.script = ({ attempt }) =>
        attempt === 1
          ? { ...LOST, retryAfterMs: 1 }
          : { kind: 'transient', code: 'timeout', retryAfterMs: 60_000 };
      await two.delivery.accept(rig.workspaceId, rig.sms('d2'));
      await until(
        'it was refused',
        async () => (await two.delivery.track(rig.workspaceId, 'd2')).attempt === 2,
      );
      await expect(two.delivery.cancel(rig.workspaceId, 'd2')).rejects.toMatchObject({
        code: 'not_cancelable',
      });
      expect(await endOf('d2')).toEqual(UNKNOWN);
    });

    test('is unknown if its cancel came while it was with it', async () => {
      carrier.script = carrier.hang;
      await two.delivery.accept(rig.workspaceId, rig.sms('d3'));
      await until('it is on its way', () => carrier.uids().includes('d3'));
      await expect(two.delivery.cancel(rig.workspaceId, 'd3')).rejects.toMatchObject({
        code: 'not_cancelable',
      });
      carrier.release(LOST);
      await until('it is recorded', async () => !['accepted', 'sending'].includes((await endOf('d3')).state));
      expect(await endOf('d3')).toEqual(UNKNOWN);
    });

    test('is unknown when its time is over, and when its tries are', async () => {
      carrier.script = ({ uid, attempt }) =>
        attempt === 1
          ? { ...LOST, retryAfterMs: uid === 'd4' ? 60_000 : 1 }
          : { kind: 'transient', code: 'http_503', retryAfterMs: 1 };
      await lose('d4', { expiresAt: new Date(Date.now() + 2_000).toISOString() });
      await two.delivery.accept(rig.workspaceId, rig.sms('d5'));
      await until('both have ended', async () =>
        (await Promise.all(['d4', 'd5'].map(endOf))).every(({ state }) => state !== 'accepted'),
      );
      expect([await endOf('d4'), await endOf('d5')]).toEqual([UNKNOWN, UNKNOWN]);
    }, 30_000);
  });

  test('a message that was put back while it was canceled is canceled by another try', async () => {
    await accept(rig.sms('put-back', { sendAt: new Date(Date.now() + 60_000).toISOString() }));
    // As it is for one who asks after its group was closed, and before its end was recorded.
    expect(await noteUnwanted(rig.db, rig.workspaceId, 'put-back')).toBe(false);
    await one.delivery.cancel(rig.workspaceId, 'put-back');
    expect(await noteUnwanted(rig.db, rig.workspaceId, 'put-back')).toBe(true);
  });

  test('a message that was left over when a hand-over was full is not sent once it is canceled', async () => {
    const provider = one.email;
    provider.script = provider.hang;
    const body = `<p>{{NAME}} ${'x'.repeat(400_000)}</p>`;
    const large = await addTemplate(rig.db, rig.workspaceId, { channel: 'email', subject: 'Long', body });
    // More than all hand-overs that may be under way at once hold.
    const uids = Array.from({ length: 200 }, (_, i) => `l${i}`);
    await one.delivery.acceptMany(
      rig.workspaceId,
      uids.map((uid) => rig.email(uid, { 'template-id': large })),
    );
    await until('as many as fit are on their way', () => provider.taken.length > 0);
    const left = uids.filter((uid) => !provider.uids().includes(uid));
    expect(left).toContain('l199');
    expect(await one.delivery.cancel(rig.workspaceId, 'l199')).toMatchObject({ state: 'canceled' });
    provider.script = (message) => ({ kind: 'accepted', providerId: message.id });
    provider.release({ kind: 'accepted', providerId: 'p' });
    await until('the others are sent', async () => {
      const states = await rig.states();
      return uids.every((uid) => states[uid] === (uid === 'l199' ? 'canceled' : 'sent'));
    });
    expect(provider.uids()).not.toContain('l199');
  });

  test('no batch opens with a canceled message, though its dispatcher knows of every cancel', async () => {
    await accept(
      ...['b1', 'b2'].map((uid) => rig.sms(uid, { sendAt: new Date(Date.now() + 60_000).toISOString() })),
    );
    const { id, lane: partitionId } = await rig.db
      .selectFrom('messages')
      .select(['id', 'lane'])
      .where('uid', '=', 'b1')
      .executeTakeFirstOrThrow();
    const other = await rig.db
      .selectFrom('messages')
      .select('id')
      .where('uid', '=', 'b2')
      .executeTakeFirstOrThrow();
    // Read before the cancel, and in no queue when it is heard of.
    const messages = await readWaiting(rig.db, [id, other.id]);
    await one.delivery.cancel(rig.workspaceId, 'b1');
    const { fence, cancels } = await rig.db
      .selectFrom('dispatch_lanes')
      .select(['fence', 'cancels'])
      .where('id', '=', partitionId)
      .executeTakeFirstOrThrow();
    const partition = {
      id: partitionId,
      fence,
      cancels,
      adopted: false,
      isReadable: true,
      leaseEndsAt: 0,
      lost: false,
    };
    const open = (batchId: string, of: typeof messages) =>
      openGroup(
        rig.db,
        { id: batchId, partition, provider: 'scripted', messages: of },
        { stoppedAmong: stoppedWorkspaces },
      );
    expect(await open('bat_both', messages)).toEqual({ kind: 'partition_changed' });
    const living = messages.filter((message) => message.id === other.id);
    expect(await open('bat_living', living)).toMatchObject({ kind: 'opened' });
    const opened = await rig.db.selectFrom('handover_batches').select('id').execute();
    expect(opened).toEqual([{ id: 'bat_living' }]);
    await rig.db.deleteFrom('handover_batches').execute();
  });

  test.each([
    ['', {}],
    [' of a sender with a limit', { sms: { rate: 2_000, burst: 2_000 } }],
  ])('racing with the dispatcher, a message%s is either canceled or sent', async (_, senderLimits) => {
    const isLimited = Object.keys(senderLimits).length > 0;
    // A carrier that takes its time, so that some of them wait while others are on their way.
    const sms = new ScriptedProvider('sms', { batchMax: 20 });
    sms.script = async (message) => {
      await new Promise((done) => setTimeout(done, 5));
      return { kind: 'accepted', providerId: message.id };
    };
    const mine = await rig.process({ sms }, { senderLimits });
    const two = await rig.process({}, { senderLimits });
    const uids = Array.from({ length: 300 }, (_, i) => `${isLimited ? 'rl' : 'r'}${i}`);
    const outcomes = await Promise.all(
      uids.map(async (uid, i) => {
        await mine.delivery.accept(rig.workspaceId, rig.sms(uid));
        if (i % 2) await new Promise((turn) => setImmediate(turn));
        return (i % 3 ? mine : two).delivery.cancel(rig.workspaceId, uid).then(
          () => 'canceled',
          () => 'sent',
        );
      }),
    );
    await until('all have ended', async () => {
      const states = await rig.states();
      return uids.every((uid) => states[uid] === 'sent' || states[uid] === 'canceled');
    });
    const states = await rig.states();
    expect(uids.map((uid) => states[uid])).toEqual(outcomes);
    const sent = [...mine.sms.uids(), ...two.sms.uids()].filter((uid) => uids.includes(uid));
    expect(sent.sort()).toEqual(uids.filter((_, i) => outcomes[i] === 'sent').sort());
    expect(outcomes).toContain('canceled');
  });
});
