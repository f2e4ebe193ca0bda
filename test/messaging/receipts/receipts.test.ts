/** Proves that receipts are stored once and move a message up in rank only. */

import { setTimeout as delay } from 'node:timers/promises';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { allEvents, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';

describeWithDatabase('receipts', (database) => {
  let rig: OutboxRig;
  let one: TestProcess;
  beforeAll(async () => {
    rig = await createOutboxRig(await database.open());
    one = await rig.process();
  });
  afterAll(() => rig.stop());

  async function sent(uid: string): Promise<string> {
    const { id } = await one.delivery.accept(rig.workspaceId, rig.sms(uid));
    await until('it is sent', async () => (await rig.states())[uid] === 'sent');
    return id;
  }
  const track = (uid: string) => one.delivery.track(rig.workspaceId, uid);
  const types = async (uid: string) => (await track(uid)).events.map((event) => event.type);
  const fed = async (uid: string) =>
    (await allEvents(one.delivery, rig.workspaceId)).filter((event) => event.uid === uid);

  test('repeated receipts, by either id, change nothing the second time', async () => {
    const id = await sent('twice');
    await one.sms.report({ id, type: 'delivered' }, { id, type: 'delivered' });
    await one.sms.report({ providerId: `p:${id}`, type: 'delivered', at: '2026-01-01T00:00:00Z' });
    expect(await types('twice')).toEqual(['accepted', 'sent', 'delivered']);
    expect(await fed('twice')).toHaveLength(3);
  });

  test('out of order, the state only rises and each is on record', async () => {
    const id = await sent('order');
    await one.sms.report({ id, type: 'delivered' });
    await one.sms.report({ id, type: 'undelivered', code: 'absent' });
    const tracked = await track('order');
    expect(tracked).toMatchObject({ state: 'delivered' });
    expect(tracked.code).toBeUndefined();
    expect(tracked.events.at(-1)).toMatchObject({ type: 'undelivered', state: 'delivered', code: 'absent' });
    expect(await fed('order')).toEqual(tracked.events);
  });

  test('what another process recorded meanwhile is taken into account', async () => {
    const two = await rig.process();
    const id = await sent('between');
    await two.sms.report({ id, type: 'delivered' });
    await one.sms.report({ id, type: 'delivered' }, { id, type: 'undelivered', code: 'absent' });
    expect(await types('between')).toEqual(['accepted', 'sent', 'delivered', 'undelivered']);
    expect((await track('between')).state).toBe('delivered');
    expect(await fed('between')).toHaveLength(4);
  });

  test('a later delivered receipt replaces undelivered', async () => {
    const id = await sent('better');
    await one.sms.report({ id, type: 'undelivered', code: 'absent' });
    expect(await track('better')).toMatchObject({ state: 'undelivered', code: 'absent' });
    await one.sms.report({ id, type: 'delivered' });
    expect((await track('better')).state).toBe('delivered');
  });

  test('before their hand-over is recorded, they wait for it', async () => {
    one.sms.script = one.sms.hang;
    const { id } = await one.delivery.accept(rig.workspaceId, rig.sms('early'));
    await until('it is on its way', () => one.sms.uids().includes('early'));
    await one.sms.report({ id, type: 'delivered' });
    expect((await track('early')).state).toBe('sending');
    one.sms.script = (message) => ({ kind: 'accepted', providerId: `p:${message.id}` });
    one.sms.release({ kind: 'accepted', providerId: 'own-id' });
    await until('it is delivered', async () => (await rig.states()).early === 'delivered');
    expect(await types('early')).toEqual(['accepted', 'sent', 'delivered']);
    const left = () => rig.db.selectFrom('orphan_receipts').selectAll().execute();
    await until('nothing is left aside', async () => (await left()).length === 0);
  });

  test("of a provider's id that was given twice, they are the last one's, or those of whom they name", async () => {
    one.sms.script = () => ({ kind: 'accepted', providerId: 'p-again' });
    const type = 'delivered' as const;
    for (const [i, to] of ['+12125550131', '+12125550132', '+12125550133'].entries()) {
      await one.delivery.accept(rig.workspaceId, rig.sms(`again${i}`, { to }));
      await until('it is sent', async () => (await rig.states())[`again${i}`] === 'sent');
    }
    one.sms.script = (message) => ({ kind: 'accepted', providerId: `p:${message.id}` });
    await one.sms.report({ providerId: 'p-again', type });
    expect(await rig.states()).toMatchObject({ again0: 'sent', again1: 'sent', again2: 'delivered' });
    const about = { to: '+12125550132', from: '12345' };
    await one.sms.report({ providerId: 'p-again', type, about }, { providerId: 'p-again', type });
    expect(await rig.states()).toMatchObject({ again0: 'sent', again1: 'delivered', again2: 'delivered' });
  });

  test("of a provider's id that is given again, they wait while a message to whom they name is on its way", async () => {
    one.sms.script = () => ({ kind: 'accepted', providerId: 'p-anew' });
    const [former, named] = ['+12125550141', '+12125550142'];
    await one.delivery.accept(rig.workspaceId, rig.sms('former', { to: former }));
    await until('it is sent', async () => (await rig.states()).former === 'sent');
    one.sms.script = one.sms.hang;
    await one.delivery.accept(rig.workspaceId, rig.sms('anew', { to: named }));
    await until('it is on its way', () => one.sms.uids().includes('anew'));
    await one.sms.report({ providerId: 'p-anew', type: 'undelivered', about: { to: named, from: '12345' } });
    // A process that starts takes up what it finds ripe.
    const [two] = [await rig.process(), await delay(200)];
    expect((await rig.states()).former).toBe('sent');
    one.sms.script = (message) => ({ kind: 'accepted', providerId: `p:${message.id}` });
    one.sms.release({ kind: 'accepted', providerId: 'p-anew' });
    await until('it is undelivered', async () => (await rig.states()).anew === 'undelivered');
    expect((await rig.states()).former).toBe('sent');
    await two.sms.report({ providerId: 'p-anew', type: 'delivered', about: { to: former, from: '12345' } });
    expect((await rig.states()).former).toBe('delivered');
    await until('nothing is left aside', async () => {
      return (await rig.db.selectFrom('orphan_receipts').selectAll().execute()).length === 0;
    });
  });

  test("before it is known which message the provider's id means, they wait as well", async () => {
    await one.sms.report({ providerId: 'p-later', type: 'delivered' });
    one.sms.script = () => ({ kind: 'accepted', providerId: 'p-later' });
    await one.delivery.accept(rig.workspaceId, rig.sms('named'));
    await until('it is delivered', async () => (await rig.states()).named === 'delivered');
    one.sms.script = (message) => ({ kind: 'accepted', providerId: `p:${message.id}` });
  });

  test('late ones turn doubt into knowledge', async () => {
    one.sms.script = () => ({ kind: 'unknown' });
    const { id } = await one.delivery.accept(rig.workspaceId, rig.sms('doubt'));
    await until('it is unknown', async () => (await rig.states()).doubt === 'unknown');
    one.sms.script = (message) => ({ kind: 'accepted', providerId: `p:${message.id}` });
    await one.sms.report({ id, type: 'delivered' });
    expect((await track('doubt')).state).toBe('delivered');
  });

  test('a call reports its progress and its end, with what was heard', async () => {
    const id = await sent('call');
    await one.sms.report(
      { id, type: 'ringing' },
      { id, type: 'answered' },
      { id, type: 'human', data: { answeredBy: 'human' } },
      { id, type: 'digits', data: { digits: '1', node: 'a' } },
      { id, type: 'digits', data: { node: 'a', digits: '1' } },
      { id, type: 'digits', data: { digits: '2', node: 'b' } },
      { id, type: 'completed', data: { answeredBy: 'human', durationMs: 900, digits: '12' } },
    );
    const tracked = await track('call');
    expect(tracked.state).toBe('delivered');
    expect(tracked.events.slice(2).map((event) => event.type)).toEqual([
      'ringing',
      'answered',
      'human',
      'digits',
      'digits',
      'completed',
    ]);
    expect(tracked.events.at(-1)?.data).toEqual({ answeredBy: 'human', durationMs: 900, digits: '12' });
  });

  test('receipts for unknown messages, from another provider, or without sense, do no harm', async () => {
    const id = await sent('safe');
    await one.sms.report(
      { id: 'msg_none', type: 'delivered' },
      { id, type: 'digits', data: { digits: 'x\u0000' }, code: '\ud800', at: 'never' },
    );
    expect((await track('safe')).events.at(-1)).toMatchObject({ type: 'digits', code: '\ufffd' });
  });

  test('many at once are each recorded once, from several calls and processes', async () => {
    const two = await rig.process();
    const messages = Array.from({ length: 200 }, (_, i) => rig.sms(`x${i}`));
    const outcomes = await one.delivery.acceptMany(rig.workspaceId, messages);
    const ids = outcomes.flatMap((outcome) => (outcome.ok ? [outcome.answer.id] : []));
    await until('all are sent', async () => {
      const states = await rig.states();
      return messages.every((message) => states[message.uid] === 'sent');
    });
    await Promise.all(
      [one, two, one, two].map((process) =>
        process.sms.report(
          ...ids.flatMap((id) => [{ id, type: 'ringing' } as const, { id, type: 'delivered' } as const]),
        ),
      ),
    );
    const events = (await allEvents(one.delivery, rig.workspaceId)).filter((e) => /^x/.test(e.uid));
    for (const type of ['accepted', 'sent', 'ringing', 'delivered']) {
      expect(events.filter((event) => event.type === type)).toHaveLength(200);
    }
  });
});
