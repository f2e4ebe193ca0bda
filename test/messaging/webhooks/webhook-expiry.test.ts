/** Proves how long ended deliveries and deleted endpoints are kept. */

import { createLog } from '../../../src/log';
import { keepWebhookExpiry } from '../../../src/messaging/webhooks/deliveries';
import { newId } from '../../../src/storage/new-id';
import type { PeriodicCleanup } from '../../../src/storage/periodic-cleanup';
import { describeWithDatabase } from '../../support/storage';
import { createWebhookRig, type WebhookRig } from './webhook-rig';

const DAY_MS = 86_400_000;

describeWithDatabase('clearing away of webhooks', (database) => {
  let rig: WebhookRig;
  let expiry: PeriodicCleanup;

  beforeEach(async () => {
    rig = await createWebhookRig(await database.open());
    expiry = keepWebhookExpiry({ db: rig.db, log: createLog('silent') });
  });
  afterEach(async () => {
    expiry.stop();
    await rig.stop();
  });

  const create = async () => {
    const input = { url: 'https://hooks.example.com/', events: ['*'], description: null };
    return (await rig.webhooks.create(rig.workspaceId, input)).webhook.id;
  };

  const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);
  async function insert(
    webhookId: string,
    state: 'pending' | 'delivered' | 'failed',
    days: number,
    endedDays = days,
  ) {
    const id = newId('whd');
    const created_at = daysAgo(days);
    const due_at = state === 'pending' ? created_at : null;
    const row = { id, webhook_id: webhookId, type: 'webhook.test', body: '{}', state, created_at, due_at };
    const last_attempt_at = state === 'pending' ? null : daysAgo(endedDays);
    await rig.db
      .insertInto('webhook_deliveries')
      .values({ ...row, last_attempt_at })
      .execute();
    return id;
  }

  test('what was taken goes after three days, what failed after thirty, what waits stays', async () => {
    const id = await create();
    const kept = [
      await insert(id, 'delivered', 2.9),
      await insert(id, 'failed', 29),
      await insert(id, 'pending', 400),
    ];
    await insert(id, 'delivered', 3.1);
    await insert(id, 'failed', 31);
    await expiry.sweep();
    expect((await rig.deliveries(id)).map((delivery) => delivery.id).sort()).toEqual(kept.sort());
  });

  test('the days count from the last attempt, which may come days after the event', async () => {
    const id = await create();
    const kept = [await insert(id, 'delivered', 9, 2.9), await insert(id, 'failed', 40, 29)];
    await insert(id, 'delivered', 9, 3.1);
    await insert(id, 'failed', 40, 31);
    await expiry.sweep();
    expect((await rig.deliveries(id)).map((delivery) => delivery.id).sort()).toEqual(kept.sort());
  });

  test('one that was deleted goes with everything that it had, and no other does', async () => {
    const [gone, other] = [await create(), await create()];
    await insert(gone, 'pending', 0);
    await insert(gone, 'delivered', 0);
    await insert(other, 'delivered', 0);
    await rig.webhooks.delete(rig.workspaceId, gone);
    await expiry.sweep();
    const left = await rig.db.selectFrom('webhooks').select('id').execute();
    expect(left).toEqual([{ id: other }]);
    const rows = await rig.db.selectFrom('webhook_deliveries').select('webhook_id').execute();
    expect(rows).toEqual([{ webhook_id: other }]);
  });
});
