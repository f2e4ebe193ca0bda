import type { OutgoingMessage } from '../../../../src/messaging/model/outgoing';
import { OutboxQueue } from '../../../../src/messaging/outbox/queue/outbox-queue';
import type { Partition } from '../../../../src/messaging/outbox/queue/partitions';

const LANE = { id: 'lane', lost: false, adopted: false } as Partition;
const message = (id: string) =>
  ({
    ...{ id, workspaceId: 'wsp', channel: 'sms', from: '12345', class: 'transactional', flow: 1, size: 100 },
  }) as OutgoingMessage;

/** What is accepted while the table is read for its flow. */
describe('a message that is accepted during a reading', () => {
  let queue: OutboxQueue;
  let reading: ReturnType<OutboxQueue['watch']>;
  const window = () => queue.windowOf(LANE, message('any'));
  const taken = () => queue.take('sms', 100).map((entry) => entry.message.id);

  beforeEach(() => {
    queue = new OutboxQueue({
      limits: { keyOf: () => undefined, queueMax: () => undefined },
      holds: { isHeld: () => false },
      wayOf: ({ channel }) => channel,
      isOut: () => false,
      onUnused: () => undefined,
    });
    window().reading = true;
    reading = queue.watch();
    queue.offer(LANE, ['a', 'b'].map(message), 1);
  });

  test('waits for its end, and comes behind what was read', () => {
    expect(queue.waiting.readyCount('sms')).toBe(0);
    queue.addRead(LANE, [message('older')]);
    queue.endReading(window(), reading.departed);
    expect(taken()).toEqual(['older', 'a', 'b']);
  });

  test('comes once if the reading brought it too, also when it has left since', () => {
    queue.addRead(LANE, [message('a')]);
    queue.letGo(queue.take('sms', 1));
    queue.addRead(LANE, [message('b')]);
    queue.endReading(window(), reading.departed);
    expect(taken()).toEqual(['b']);
  });

  test('does not come if it was canceled meanwhile', () => {
    queue.drop(['a']);
    queue.endReading(window(), reading.departed);
    expect(taken()).toEqual(['b']);
  });

  test('is left to the table if more of the flow is there', () => {
    window().behind = true;
    queue.endReading(window(), reading.departed);
    expect([taken(), queue.unread.has(window())]).toEqual([[], true]);
  });
});

test('a probe that none of many messages can be is looked for a fiftieth of the time', () => {
  const queue = new OutboxQueue({
    limits: { keyOf: () => undefined, queueMax: () => undefined },
    holds: { isHeld: () => false },
    wayOf: ({ channel }) => channel,
    isOut: () => false,
    onUnused: () => undefined,
  });
  const ids = Array.from({ length: 500 }, (_, i) => `m${i}`);
  queue.offer(LANE, ids.map(message), 1);
  let looks = 0;
  const beganAt = performance.now();
  let turns = 0;
  for (; performance.now() < beganAt + 200; turns++) {
    queue.waiting.sendProbe('down', () => {
      looks += 1;
      return false;
    });
  }
  expect(looks / ids.length).toBeGreaterThan(1);
  expect(looks / ids.length).toBeLessThan(turns / 10);
  queue.reroute();
  queue.waiting.sendProbe('down', ({ id }) => id === 'm7');
  expect(queue.waiting.readyCount('down')).toBe(1);
});
