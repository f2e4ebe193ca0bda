import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { cancelWaiting } from '../../../src/messaging/outbox/cancellations';
import { countWaiting, eraseMessages } from '../../../src/messaging/outbox/erase-messages';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { endLeases } from '../end-leases';
import { allEvents, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

describeWithDatabase('after a process is gone', (database) => {
  let rig: OutboxRig;
  let first: TestProcess;
  beforeEach(async () => {
    rig = await createOutboxRig(await database.open());
  });
  afterEach(() => rig.stop());

  /** A process that ends while its provider has a batch, as far as the next one can tell. */
  async function endInTheMiddle(options: { idempotent: boolean }): Promise<TestProcess> {
    first = await rig.process({ sms: new ScriptedProvider('sms', options) });
    first.sms.script = first.sms.hang;
    await first.delivery.accept(rig.workspaceId, rig.sms('doubt'));
    await until('it is on its way', () => first.sms.taken.length === 1);
    for (const [uid, more] of [
      ['waiting', {}],
      ['later', { sendAt: new Date(Date.now() + 300).toISOString() }],
      ['held', { campaign: 'c1' }],
    ] as const) {
      await first.delivery.hold(rig.workspaceId, 'c1');
      first.sms.script = first.sms.hang;
      await first.delivery.accept(rig.workspaceId, rig.email(`e-${uid}`, more));
    }
    await endLeases(rig.db);
    return rig.process({ sms: new ScriptedProvider('sms', options) });
  }

  const openBatches = async () => (await rig.db.selectFrom('handover_batches').select('id').execute()).length;

  test('what was with a provider that knows its messages is handed over again under the same id', async () => {
    const second = await endInTheMiddle({ idempotent: true });
    await until('it is sent', async () => (await rig.states()).doubt === 'sent');
    expect(second.sms.taken).toEqual(first.sms.taken);
    // The emails that waited have batches of their own meanwhile.
    await until('no batch is open', async () => (await openBatches()) === 0);
    expect(second.sms.taken).toEqual(first.sms.taken);
  });

  test('what was with any other provider is unknown, and the rest goes on', async () => {
    const second = await endInTheMiddle({ idempotent: false });
    await until('it is known to be unknown', async () => (await rig.states()).doubt === 'unknown');
    expect(second.sms.taken).toEqual([]);
    await until('the scheduled one is sent', async () => (await rig.states())['e-later'] === 'sent');
    expect((await rig.states())['e-held']).toBe('accepted');
    const sent = [...first.email.uids(), ...second.email.uids()].sort();
    expect(sent).toEqual(['e-later', 'e-waiting']);
    await second.delivery.release(rig.workspaceId, 'c1');
    await until('the held one is sent', async () => (await rig.states())['e-held'] === 'sent');
  });

  test('what a provider that knows its messages is not given again because of a hold is unknown once it is canceled', async () => {
    first = await rig.process({ sms: new ScriptedProvider('sms', { idempotent: true }) });
    first.sms.script = first.sms.hang;
    await first.delivery.acceptMany(
      rig.workspaceId,
      ['canceled', 'kept'].map((uid) => rig.sms(uid, { campaign: 'c1' })),
    );
    await until('both are on their way', () => first.sms.taken.length === 2);
    await first.delivery.hold(rig.workspaceId, 'c1');
    await endLeases(rig.db);
    const second = await rig.process({ sms: new ScriptedProvider('sms', { idempotent: true }) });
    await expect(first.delivery.cancel(rig.workspaceId, 'canceled')).rejects.toMatchObject({
      code: 'not_cancelable',
    });
    await until('it is unknown', async () => (await rig.states()).canceled === 'unknown');
    expect([(await rig.states()).kept, second.sms.taken]).toEqual(['accepted', []]);
    await second.delivery.release(rig.workspaceId, 'c1');
    await until('the other one is sent', async () => (await rig.states()).kept === 'sent');
    expect(second.sms.uids()).toEqual(['kept']);
    await until('no batch is open', async () => (await openBatches()) === 0);
  });

  test('what is not given to its provider again because of a hold is erased with its person', async () => {
    first = await rig.process({ sms: new ScriptedProvider('sms', { idempotent: true }) });
    first.sms.script = first.sms.hang;
    await first.delivery.accept(rig.workspaceId, rig.sms('m1', { campaign: 'c1' }));
    await until('it is on its way', () => first.sms.taken.length === 1);
    await first.delivery.hold(rig.workspaceId, 'c1');
    await endLeases(rig.db);
    const second = await rig.process({ sms: new ScriptedProvider('sms', { idempotent: true }) });
    const person = { workspaceId: rig.workspaceId, addresses: ['+12025550123'], words: ['ada'] };
    await until('nothing of the person is left', async () => {
      await cancelWaiting(rig.db, person);
      await eraseMessages(rig.db, person);
      return (await countWaiting(rig.db, person)) === 0;
    });
    expect(await rig.states()).toEqual({ m1: 'unknown' });
    expect(second.sms.taken).toEqual([]);
  });

  test('nothing is read of a partition before its open groups are, though a release lets all be looked at again', async () => {
    first = await rig.process();
    first.sms.script = first.sms.hang;
    await first.delivery.accept(rig.workspaceId, rig.sms('doubt'));
    await until('it is on its way', () => first.sms.taken.length === 1);
    await endLeases(rig.db);
    const second = await rig.db.transaction().execute(async (tx) => {
      // The open groups are read as late as this ends.
      await sql`lock table handover_batches in access exclusive mode`.execute(tx);
      const adopting = await rig.process();
      await adopting.delivery.hold(rig.workspaceId, 'c1');
      await adopting.delivery.release(rig.workspaceId, 'c1');
      // As long as a reading and an opening take, many times over.
      await delay(500);
      return adopting;
    });
    await until('it is settled', async () => (await rig.states()).doubt !== 'accepted');
    expect([(await rig.states()).doubt, second.sms.taken]).toEqual(['unknown', []]);
  });

  test('an answer that comes after the lane was taken over changes nothing any more', async () => {
    const second = await endInTheMiddle({ idempotent: false });
    await until('it is known to be unknown', async () => (await rig.states()).doubt === 'unknown');
    first.sms.release();
    await first.delivery.stop();
    const events = (await allEvents(second.delivery, rig.workspaceId)).filter((e) => e.uid === 'doubt');
    expect(events.map((event) => event.type)).toEqual(['accepted', 'unknown']);
  });

  test('that a message was taken is known also from an answer which comes after the lane was taken over', async () => {
    const second = await endInTheMiddle({ idempotent: false });
    await until('it is known to be unknown', async () => (await rig.states()).doubt === 'unknown');
    first.sms.release({ kind: 'accepted', providerId: 'p:doubt' });
    await until('it is sent', async () => (await rig.states()).doubt === 'sent', 10_000);
    await second.sms.report({ providerId: 'p:doubt', type: 'delivered' });
    const { events } = await second.delivery.track(rig.workspaceId, 'doubt');
    expect(events.map(({ type }) => type)).toEqual(['accepted', 'unknown', 'sent', 'delivered']);
    expect(second.sms.taken).toEqual([]);
  });

  test('a process that was only frozen sends nothing of a lane that another has taken over', async () => {
    first = await rig.process();
    first.sms.script = first.sms.hang;
    const uids = Array.from({ length: 8 }, (_, i) => `m${i}`);
    for (const uid of uids) {
      await first.delivery.accept(rig.workspaceId, rig.sms(uid));
      await until(
        'it is taken or waits',
        () => first.sms.taken.length >= Math.min(4, Number(uid.slice(1)) + 1),
      );
    }
    const started = first.sms.uids();
    expect(started.length).toBeLessThan(uids.length);
    await endLeases(rig.db);
    const second = await rig.process();
    await until('all are accounted for', async () => {
      return Object.values(await rig.states()).every((state) => state === 'sent' || state === 'unknown');
    });
    first.sms.script = (message) => ({ kind: 'accepted', providerId: message.id });
    first.sms.release();
    await first.delivery.stop();
    expect(first.sms.uids()).toEqual(started);
    expect([...first.sms.uids(), ...second.sms.uids()].sort()).toEqual(uids);
    const states = await rig.states();
    expect(uids.filter((uid) => states[uid] === 'unknown').sort()).toEqual(started.sort());
  });

  test('a process that was only frozen does not expire what its successor is handing over', async () => {
    first = await rig.process();
    first.sms.script = first.sms.hang;
    for (let i = 0; i < 4; i++) {
      await first.delivery.accept(rig.workspaceId, rig.sms(`m${i}`));
      await until('it is on its way', () => first.sms.taken.length === i + 1);
    }
    const expiresAtMs = Date.now() + 100;
    const expiresAt = new Date(expiresAtMs).toISOString();
    await first.delivery.accept(rig.workspaceId, rig.sms('intime', { expiresAt }));
    // The successor is in time, however busy the machine is.
    await rig.db.updateTable('messages').set({ expires_at: null }).execute();
    await endLeases(rig.db);
    const slow = new ScriptedProvider('sms');
    slow.script = slow.hang;
    await rig.process({ sms: slow });
    await until('the successor hands it over', () => slow.uids().includes('intime'));
    await until('its time is over', () => Date.now() > expiresAtMs);
    first.sms.release();
    const partitions = () => rig.db.selectFrom('dispatch_lanes').select('id').execute();
    await until('the first has noticed', async () => {
      return (await partitions()).length === 3 || (await rig.states()).intime === 'expired';
    });
    slow.release({ kind: 'accepted', providerId: 'p1' });
    await until('it is recorded', async () => (await rig.states()).intime !== 'accepted');
    const { state, provider_id } = await rig.db
      .selectFrom('messages')
      .select(['state', 'provider_id'])
      .where('uid', '=', 'intime')
      .executeTakeFirstOrThrow();
    expect({ state, provider_id }).toEqual({ state: 'sent', provider_id: 'p1' });
  });

  test('a process that stops in order leaves nothing in doubt and no lane of its own', async () => {
    first = await rig.process();
    await first.delivery.acceptMany(
      rig.workspaceId,
      Array.from({ length: 500 }, (_, i) => rig.sms(`m${i}`)),
    );
    await first.delivery.stop();
    expect(await rig.db.selectFrom('handover_batches').selectAll().execute()).toEqual([]);
    const second = await rig.process();
    await until('all are sent', async () => Object.values(await rig.states()).every((s) => s === 'sent'));
    expect([...first.sms.uids(), ...second.sms.uids()]).toHaveLength(500);
    await second.delivery.stop();
    await until('no lane is left', async () => {
      return (await rig.db.selectFrom('dispatch_lanes').selectAll().execute()).length === 0;
    });
  });
});
