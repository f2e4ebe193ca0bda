import { setImmediate as turn } from 'node:timers/promises';
import { createLog } from '../../../../src/log';
import type { OutgoingMessage } from '../../../../src/messaging/model/outgoing';
import { Admission } from '../../../../src/messaging/outbox/queue/admission';
import { OutboxQueue } from '../../../../src/messaging/outbox/queue/outbox-queue';
import type { Partition } from '../../../../src/messaging/outbox/queue/partitions';

const LANE = { id: 'lane', lost: false, adopted: false } as Partition;
const CAMPAIGNS = 10;
/** In memory of each. */
const EACH = 2;

const message = (campaign: number, i: number) =>
  ({
    ...{ id: `${campaign}.${i}`, workspaceId: 'wsp', channel: 'sms', from: '12345', class: 'marketing' },
    ...{ campaign: `c${campaign}`, flow: campaign, size: 100 },
  }) as OutgoingMessage;

test('campaigns of a slow sender leave in turn, also while some of what was granted waits for the carrier', async () => {
  const limits = { keyOf: () => 'sender', queueMax: () => CAMPAIGNS * EACH };
  const queue = new OutboxQueue({
    limits,
    holds: { isHeld: () => false },
    wayOf: () => 'sms',
    isOut: () => false,
    onUnused: () => undefined,
  });
  const granted: string[] = [];
  /** Three at a time, as a rate gives them. */
  const take = async (messages: readonly { id: string }[]) => {
    granted.push(...messages.slice(0, 3).map(({ id }) => id));
    return { granted: 3, waitMs: 0 };
  };
  const admission = new Admission({
    queue,
    limits: { ...limits, take, giveBack: async () => undefined },
    log: createLog('silent'),
    isOpen: () => true,
    wake: () => undefined,
  });
  for (let i = 0; i < EACH; i++) {
    for (let campaign = 0; campaign < CAMPAIGNS; campaign++) queue.offer(LANE, [message(campaign, i)], 1);
  }
  for (let asked = 0; asked < 10; asked++) {
    admission.pump(Date.now());
    await turn();
    // What is granted makes room in memory for the next of its flow, whether or not it has left.
    for (const id of granted.slice(-3)) {
      const [campaign, i] = id.split('.').map(Number) as [number, number];
      queue.addRead(LANE, [message(campaign, i + EACH)]);
    }
    queue.letGo(queue.take('sms', 2));
  }
  const ofEach = Array.from(
    { length: CAMPAIGNS },
    (_, campaign) => granted.filter((id) => id.startsWith(`${campaign}.`)).length,
  );
  expect(ofEach).toEqual(Array.from({ length: CAMPAIGNS }, () => 3));
});
