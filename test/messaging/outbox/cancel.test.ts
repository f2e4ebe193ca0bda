import { describeEachEngine } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';

describeEachEngine('canceling', (engine) => {
  let rig: OutboxRig;
  let one: TestProcess;
  beforeAll(async () => {
    rig = await createOutboxRig(await engine.open());
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

  test('racing with the dispatcher, a message is either canceled or sent', async () => {
    const two = engine.name === 'postgres' ? await rig.process() : one;
    const uids = Array.from({ length: 300 }, (_, i) => `r${i}`);
    const outcomes = await Promise.all(
      uids.map(async (uid, i) => {
        await one.delivery.accept(rig.workspaceId, rig.sms(uid));
        if (i % 2) await new Promise((turn) => setImmediate(turn));
        return (i % 3 ? one : two).delivery.cancel(rig.workspaceId, uid).then(
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
    const sent = [...one.sms.uids(), ...(two === one ? [] : two.sms.uids())].filter((uid) => /^r/.test(uid));
    expect(sent.sort()).toEqual(uids.filter((_, i) => outcomes[i] === 'sent').sort());
    expect(outcomes).toContain('canceled');
  });
});
