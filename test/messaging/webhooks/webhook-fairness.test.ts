/** Proves that slow endpoints of one workspace do not delay another’s. */

import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '../../../src/domain/limits';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig } from '../outbox-rig';
import { type Receiver, startReceiver } from './receiver';
import { createWebhookRig, type WebhookRig } from './webhook-rig';

const DELAY_MAX_MS = 1_000;
const SLOW_MS = 10_000;

describeWithDatabase('webhooks of several workspaces', (database) => {
  let storage: Storage;
  let rig: WebhookRig;
  let slow: Receiver;
  let quick: Receiver;

  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createWebhookRig(storage);
    slow = await startReceiver();
    quick = await startReceiver();
  });
  afterEach(async () => {
    // Before the processes end, or they would wait for the answers.
    await slow.close();
    await rig.stop();
    await quick.close();
  });

  const create = async (workspaceId: string, url: string) =>
    (await rig.webhooks.create(workspaceId, { url, events: ['message.*'], description: null })).webhook.id;

  test.each([
    ['answer after ten seconds', 12],
    ['are dead and as many as a workspace may have', LIMITS.webhooksPerWorkspace],
  ])('those that %s delay those of another workspace by less than a second', async (how, count) => {
    slow.answerWith((_, response) => {
      if (how.startsWith('answer')) setTimeout(() => response.writeHead(204).end(), SLOW_MS).unref();
      return 'nothing';
    });
    for (let i = 0; i < count; i++) await create(rig.workspaceId, slow.url);
    const other = await createOutboxRig(storage);
    const id = await create(other.workspaceId, quick.url);
    await rig.deliver();
    for (let i = 0; i < 3; i++) await rig.accept(100);
    await until('the slow ones are busy', () => slow.requests.length >= count);

    const delays: number[] = [];
    for (let i = 1; i <= 9; i++) {
      await rig.accept(50);
      const begunAt = performance.now();
      await rig.webhooks.test(other.workspaceId, id);
      await until('it is there', () => quick.taken.size === i, SLOW_MS * 2);
      delays.push(performance.now() - begunAt);
      await delay(100);
    }
    delays.sort((a, b) => a - b);
    // A busy machine may delay one of them by so much; slow endpoints would delay most.
    expect(delays[4]).toBeLessThan(DELAY_MAX_MS);
    expect(delays[7]).toBeLessThan(SLOW_MS / 2);
  });
});
