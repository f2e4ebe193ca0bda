import { setTimeout as delay } from 'node:timers/promises';
import type { Message } from '../../../src/contracts/send';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { endLeases } from '../end-leases';
import { createOutboxRig, type OutboxRig } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

/** So many messages at once, each answered after this: 200 a second at most. */
const PLACES = 20;
const ANSWER_MS = 100;

describeWithDatabase('sharing a carrier', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let other: OutboxRig;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    other = await createOutboxRig(storage);
  });
  afterEach(async () => {
    await rig.stop();
    await other.stop();
  });

  function slowCarrier(): ScriptedProvider {
    const carrier = new ScriptedProvider('sms', { batchMax: PLACES, parallel: PLACES, answersEach: true });
    carrier.script = async (message) => {
      await delay(ANSWER_MS);
      return { kind: 'accepted', providerId: message.id };
    };
    return carrier;
  }

  const bulk = (of: OutboxRig, campaign: string, count: number, more: Partial<Message> = {}) =>
    Array.from({ length: count }, (_, i) => of.sms(`${campaign}-${i}`, { campaign, ...more }));
  /** Where a message came among all that the carrier got. */
  const placeOf = (carrier: ScriptedProvider, uid: string) => carrier.uids().indexOf(uid);

  test('a transactional message passes a bulk that is larger than memory', async () => {
    const carrier = slowCarrier();
    const one = await rig.process({ sms: carrier });
    for (let i = 0; i < 6; i++) {
      await one.delivery.acceptMany(rig.workspaceId, bulk(rig, `bulk${i}`, 1_000, { campaign: 'bulk' }));
    }
    await until('the carrier is busy', () => carrier.taken.length >= PLACES);
    const before = carrier.taken.length;
    await one.delivery.accept(rig.workspaceId, rig.sms('own', { class: 'transactional' }));
    await one.delivery.accept(other.workspaceId, other.sms('others', { class: 'transactional' }));
    await until(
      'both are handed over',
      () => placeOf(carrier, 'own') >= 0 && placeOf(carrier, 'others') >= 0,
    );
    // What the carrier was given meanwhile: its places a few times over, and not the bulk.
    expect(placeOf(carrier, 'own') - before).toBeLessThan(5 * PLACES);
    expect(placeOf(carrier, 'others') - before).toBeLessThan(5 * PLACES);
  });

  test('another workspace and another campaign get their turns beside a bulk', async () => {
    const carrier = slowCarrier();
    const one = await rig.process({ sms: carrier });
    for (let i = 0; i < 6; i++) {
      await one.delivery.acceptMany(rig.workspaceId, bulk(rig, `bulk${i}`, 1_000, { campaign: 'bulk' }));
    }
    await until('the carrier is busy', () => carrier.taken.length >= PLACES);
    const before = carrier.taken.length;
    await one.delivery.acceptMany(rig.workspaceId, bulk(rig, 'second', 60));
    await one.delivery.acceptMany(other.workspaceId, bulk(other, 'theirs', 60));
    await until('all of them are handed over', () => {
      const uids = carrier.uids();
      return ['second-59', 'theirs-59'].every((uid) => uids.includes(uid));
    });
    // Each workspace has half of the carrier, and each campaign half of its workspace's.
    expect(placeOf(carrier, 'theirs-59') - before).toBeLessThan(2 * 60 + 8 * PLACES);
    expect(placeOf(carrier, 'second-59') - before).toBeLessThan(4 * 60 + 8 * PLACES);
  });

  test('with two processes a single message waits for neither bulk', async () => {
    const carriers = [slowCarrier(), slowCarrier()];
    const [one, two] = await Promise.all(carriers.map((sms) => rig.process({ sms })));
    await one?.delivery.acceptMany(rig.workspaceId, bulk(rig, 'a', 1_000));
    await two?.delivery.acceptMany(rig.workspaceId, bulk(rig, 'b', 1_000));
    await until('both carriers are busy', () => carriers.every(({ taken }) => taken.length >= PLACES));
    const before = carriers.map(({ taken }) => taken.length);
    await one?.delivery.accept(other.workspaceId, other.sms('single'));
    await two?.delivery.accept(other.workspaceId, other.sms('reset', { class: 'transactional' }));
    const [first, second] = carriers as [ScriptedProvider, ScriptedProvider];
    await until('both are handed over', () => placeOf(first, 'single') >= 0 && placeOf(second, 'reset') >= 0);
    expect(placeOf(first, 'single') - (before[0] as number)).toBeLessThan(5 * PLACES);
    expect(placeOf(second, 'reset') - (before[1] as number)).toBeLessThan(5 * PLACES);
  });

  test('what waits in the table keeps its turns: two campaigns beyond memory share the carrier', async () => {
    const carrier = new ScriptedProvider('sms', { batchMax: PLACES, parallel: PLACES, answersEach: true });
    carrier.script = carrier.hang;
    const one = await rig.process({ sms: carrier });
    for (const campaign of ['a', 'b']) {
      for (let i = 0; i < 6; i++) {
        await one.delivery.acceptMany(rig.workspaceId, bulk(rig, `${campaign}${i}`, 1_000, { campaign }));
      }
    }
    carrier.script = (message) => ({ kind: 'accepted', providerId: message.id });
    carrier.release({ kind: 'accepted', providerId: 'p' });
    await until('half of them are out', () => carrier.taken.length >= 6_000, 30_000);
    const half = carrier.uids().slice(0, 6_000);
    expect(half.filter((uid) => uid.startsWith('b')).length).toBeGreaterThan(2_500);
    await until('all are out', () => carrier.taken.length === 12_000, 30_000);
    expect(new Set(carrier.uids()).size).toBe(12_000);
    for (const campaign of ['a', 'b']) {
      const uids = carrier.uids().filter((uid) => uid.startsWith(campaign));
      const places = uids.map((uid) => Number(uid.slice(1, 2)) * 1_000 + Number(uid.split('-')[1]));
      expect(places.filter((place, i) => i > 0 && place < (places[i - 1] as number)).length).toBeLessThan(5);
    }
  });

  test('a message that the carrier does not answer holds up nothing of its group', async () => {
    const carrier = slowCarrier();
    const quick = carrier.script;
    carrier.script = (message, mayLeave) =>
      message.uid === 'bulk-3' ? carrier.hang() : quick(message, mayLeave);
    const one = await rig.process({ sms: carrier });
    await one.delivery.acceptMany(rig.workspaceId, bulk(rig, 'bulk', 200));
    await until('all others are recorded', async () => {
      return Object.values(await rig.states()).filter((state) => state === 'sent').length === 199;
    });
    expect((await one.delivery.track(rig.workspaceId, 'bulk-3')).state).toBe('sending');
  });

  test('a crash with 200 in flight leaves in doubt what was in flight, and nothing is sent twice', async () => {
    const carrier = new ScriptedProvider('sms', { batchMax: 200, parallel: 200, answersEach: true });
    let answers = 150;
    carrier.script = (message) => {
      answers -= 1;
      return answers >= 0 ? { kind: 'accepted', providerId: message.id } : carrier.hang();
    };
    const first = await rig.process({ sms: carrier });
    await first.delivery.acceptMany(rig.workspaceId, bulk(rig, 'bulk', 1_000));
    await until('200 are in flight', () => carrier.taken.length >= 350);
    await until('what was answered is recorded', async () => {
      return Object.values(await rig.states()).filter((state) => state === 'sent').length === 150;
    });
    const given = new Set(carrier.uids());
    // The next group may still be opening, which is written down before anything of it is given.
    let rows = -1;
    await until(
      'no group is being opened',
      async () => {
        const before = rows;
        rows = (await openMessages()).rows;
        return rows === before;
      },
      30_000,
      500,
    );
    expect(rows).toBeLessThanOrEqual(2 * 200);
    carrier.script = carrier.hang;
    await endLeases(rig.db);
    const second = await rig.process({ sms: new ScriptedProvider('sms', { answersEach: true }) });
    await until('all are accounted for', async () => {
      return Object.values(await rig.states()).every((state) => state === 'sent' || state === 'unknown');
    });
    const states = await rig.states();
    expect(second.sms.uids().filter((uid) => given.has(uid))).toEqual([]);
    for (const uid of given) expect(['sent', 'unknown']).toContain(states[uid]);
    const unknown = Object.values(states).filter((state) => state === 'unknown').length;
    expect(unknown).toBe(rows);
  });

  /** Of the first process's open groups, what nothing is recorded of. */
  async function openMessages(): Promise<{ rows: number }> {
    const groups = await rig.db.selectFrom('handover_batches').select('message_ids').execute();
    const ids = groups.flatMap(({ message_ids }) => message_ids);
    const due = await rig.db
      .selectFrom('messages')
      .select('id')
      .where('id', 'in', ids)
      .where('due_at', 'is not', null)
      .execute();
    return { rows: due.length };
  }
});
