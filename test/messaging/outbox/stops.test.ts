import { setTimeout as delay } from 'node:timers/promises';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { createStops, type Stops } from '../../../src/campaigns/stops/stops';
import type { Message } from '../../../src/contracts/send';
import { LIMITS } from '../../../src/domain/limits';
import { createLog } from '../../../src/log';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { endLeases } from '../end-leases';
import { allEvents, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

const BECAUSE = { by: 'usr_1', reason: 'Wrong price' };

describeWithDatabase('a workspace that is stopped', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let other: OutboxRig;
  let one: TestProcess;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    other = await createOutboxRig(storage);
    one = await rig.process();
  });
  afterEach(async () => {
    await stopsOf(one).end(rig.workspaceId);
    await rig.stop();
    await other.stop();
  });

  /** As the API of this process has them; of a process that is not told, with `isTold` false. */
  const stopsOf = ({ delivery }: TestProcess, isTold = true): Stops =>
    createStops({
      db: storage.tables<CampaignTables>(),
      changed: isTold ? delivery.stopsChanged : async () => undefined,
      log: createLog('silent'),
    });
  const accept = (...messages: Message[]) => one.delivery.acceptMany(rig.workspaceId, messages);
  const untilState = (uid: string, state: string, of = rig) =>
    until(`${uid} is ${state}`, async () => (await of.states())[uid] === state, 20_000);
  const countOf = async (state: string) =>
    Object.values(await rig.states()).filter((found) => found === state).length;

  test('has messages of both classes accepted, and none handed over until the stop ends', async () => {
    await stopsOf(one).begin(rig.workspaceId, BECAUSE);
    const messages = Array.from({ length: 60 }, (_, i) =>
      rig.sms(`m${10 + i}`, {
        class: i % 2 ? 'transactional' : 'marketing',
        ...(i % 3 ? {} : { campaign: 'c1' }),
      }),
    );
    expect((await accept(...messages)).every(({ ok }) => ok)).toBe(true);
    await one.delivery.accept(other.workspaceId, other.sms('theirs'));
    await untilState('theirs', 'sent', other);
    await delay(1_500);
    expect(one.sms.uids()).toEqual(['theirs']);
    expect(await countOf('accepted')).toBe(60);

    await stopsOf(one).end(rig.workspaceId);
    await until('all are handed over', async () => (await countOf('sent')) === 60, 20_000);
    expect(one.sms.uids().sort()).toEqual([...messages.map(({ uid }) => uid), 'theirs'].sort());
  });

  test('is refused beyond the bound of its outbox, as at any other time', async () => {
    await stopsOf(one).begin(rig.workspaceId, BECAUSE);
    const kind = { class: 'transactional' };
    for (let i = 0; i < LIMITS.outboxTransactionalMessages / 1_000; i++) {
      await accept(...Array.from({ length: 1_000 }, (_, j) => rig.sms(`b${i}-${j}`, kind)));
    }
    await until('the bound is met', async () => {
      const [outcome] = await accept(rig.sms(`more${Math.random()}`, kind));
      return outcome?.ok === false && (outcome.error as { code?: string }).code === 'outbox_full';
    });
    await one.delivery.accept(other.workspaceId, other.sms('theirs'));
    await untilState('theirs', 'sent', other);
    expect(one.sms.uids()).toEqual(['theirs']);
  }, 60_000);

  test('is noticed within a second by a process that was not told, also for what waits in an open group', async () => {
    const carrier = new ScriptedProvider('sms', { parallel: 5, batchMax: 5, answersEach: true });
    const leftAt: number[] = [];
    carrier.script = async (message, mayLeave) => {
      if (!mayLeave(message)) return { kind: 'stayed' };
      leftAt.push(Date.now());
      await delay(40);
      return { kind: 'accepted', providerId: message.id };
    };
    await rig.stop();
    one = await rig.process({ sms: carrier });
    await accept(...Array.from({ length: 1_000 }, (_, i) => rig.sms(`m${i}`)));
    await until('the carrier is busy', () => leftAt.length > 20);
    const two = await other.process();
    await stopsOf(two, false).begin(rig.workspaceId, BECAUSE);
    const answeredAt = Date.now();
    await delay(2_000);
    expect(Math.max(...leftAt) - answeredAt).toBeLessThan(1_000);
    const sent = leftAt.length;
    expect(sent).toBeLessThan(500);
    await delay(500);
    expect(leftAt.length).toBe(sent);

    await stopsOf(two, false).end(rig.workspaceId);
    await until('all are handed over', async () => (await countOf('sent')) === 1_000, 30_000);
    expect(leftAt).toHaveLength(1_000);
  }, 60_000);

  test('survives the end of the process, and its messages go on once it is ended by the next one', async () => {
    await stopsOf(one).begin(rig.workspaceId, BECAUSE);
    await accept(rig.sms('m1'), rig.sms('m2', { class: 'transactional' }));
    await one.delivery.stop();
    const two = await other.process();
    await two.delivery.accept(other.workspaceId, other.sms('theirs'));
    await untilState('theirs', 'sent', other);
    await delay(1_500);
    expect(two.sms.uids()).toEqual(['theirs']);
    await stopsOf(two).end(rig.workspaceId);
    await untilState('m1', 'sent');
    await untilState('m2', 'sent');
    expect([...one.sms.uids(), ...two.sms.uids()].sort()).toEqual(['m1', 'm2', 'theirs']);
    one = two;
  }, 30_000);

  test('has its messages told as expired within 5 s of their time', async () => {
    await stopsOf(one).begin(rig.workspaceId, BECAUSE);
    const expiresAt = Date.now() + 1_500;
    const late = { expiresAt: new Date(expiresAt).toISOString() };
    const sendAt = new Date(expiresAt + 60_000).toISOString();
    await accept(rig.sms('m1', late), rig.sms('m2', { ...late, campaign: 'c1' }), rig.sms('m3'));
    await accept(rig.sms('m4', { ...late, sendAt }));
    for (const uid of ['m1', 'm2', 'm4']) await untilState(uid, 'expired');
    const events = await allEvents(one.delivery, rig.workspaceId);
    const told = events.filter(({ type }) => type === 'expired').map(({ at }) => Date.parse(at) - expiresAt);
    expect(told).toHaveLength(3);
    expect(Math.max(...told)).toBeLessThan(5_000);
    await stopsOf(one).end(rig.workspaceId);
    await untilState('m3', 'sent');
    expect(one.sms.uids()).toEqual(['m3']);
  }, 30_000);

  test('has opt-outs confirmed, and nothing else answered', async () => {
    await accept(rig.sms('m1'));
    await untilState('m1', 'sent');
    await stopsOf(one).begin(rig.workspaceId, BECAUSE);
    const write = (id: string, text: string) =>
      one.delivery.inboundOf('scripted')([{ id, from: '+12025550123', to: '12345', text, at: undefined }]);
    // Callers choose uids, so that one proves nothing.
    await accept(rig.sms('reply.mine', { class: 'transactional' }), rig.sms('m2'));
    let failures = 1;
    // Tried again, the confirmation is read from the table.
    one.sms.script = (message) =>
      failures-- > 0
        ? { kind: 'transient', code: 'busy', retryAfterMs: 200 }
        : { kind: 'accepted', providerId: message.id };
    await write('i1', 'HELP');
    await write('i2', 'STOP');
    await until('the opt-out is confirmed', () => one.sms.taken.length === 3);
    await delay(1_500);
    expect(one.sms.taken).toHaveLength(3);
    expect(new Set(one.sms.uids().slice(1)).size).toBe(1);
    expect(one.sms.taken[2]?.text).toMatch(/unsubscribed|no more|stop/i);
    expect((await rig.states())['reply.mine']).not.toBe('sent');
  });

  test('does not hold up the recovery of what another workspace had on its way', async () => {
    const hanging = new ScriptedProvider('sms', { idempotent: true });
    hanging.script = hanging.hang;
    await rig.stop();
    const dying = await rig.process({ sms: hanging });
    await Promise.all([
      dying.delivery.accept(rig.workspaceId, rig.sms('ours')),
      dying.delivery.accept(other.workspaceId, other.sms('theirs')),
    ]);
    await until('both are with the carrier', () => hanging.taken.length === 2);
    await stopsOf(dying, false).begin(rig.workspaceId, BECAUSE);
    // As if it had been killed: its partition is free, and its group open.
    await endLeases(rig.db);
    const carrier = new ScriptedProvider('sms', { idempotent: true });
    one = await other.process({ sms: carrier });
    await untilState('theirs', 'sent', other);
    await delay(1_000);
    expect(carrier.uids()).toEqual(['theirs']);
    await stopsOf(one).end(rig.workspaceId);
    await untilState('ours', 'sent');
    expect(carrier.uids()).toEqual(['theirs', 'ours']);
  }, 30_000);
});
