import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig } from '../outbox-rig';

describeWithDatabase('a clock that is set back by minutes', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  beforeAll(async () => {
    storage = await database.open();
    rig = await createOutboxRig(storage);
  });
  afterEach(() => jest.restoreAllMocks());
  afterAll(() => rig.stop());

  test('holds up no message, no result, no receipt and no reader', async () => {
    const { delivery, sms } = await rig.process();
    const untilState = (uid: string, wanted: string) =>
      until(`${uid} is ${wanted}`, async () => (await rig.states())[uid] === wanted);
    await delivery.accept(rig.workspaceId, rig.sms('before'));
    await untilState('before', 'sent');
    await sms.report({ id: sms.taken[0]?.id, type: 'delivered' });
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() - 300_000);
    await delivery.accept(rig.workspaceId, rig.sms('after'));
    await untilState('after', 'sent');
    await sms.report({ id: sms.taken[1]?.id, type: 'delivered' });
    expect((await rig.states()).after).toBe('delivered');
    const { next } = await delivery.readEvents(rig.workspaceId, { limit: 1_000, waitSeconds: 0 });
    const waiting = delivery.readEvents(rig.workspaceId, { after: next, limit: 1, waitSeconds: 1 });
    clock.mockImplementation(() => now() - 600_000);
    expect((await waiting).events).toEqual([]);
  }, 15_000);
});
