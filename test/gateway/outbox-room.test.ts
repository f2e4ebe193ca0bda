import { campaignRoom, OutboxRoom, parseRoom, roomOf } from '../../src/gateway/outbox-room';

const never = new AbortController().signal;
const answer = (free: number) => ({
  status: 207,
  headers: { 'x-outbox-room': `marketing=${free}/20000, transactional=5000/5000` },
  body: undefined,
});
const demand = (most: number, campaign = 'c1', signal = never) => ({ campaign, most, signal });

test('a campaign stops at three quarters of either bound', () => {
  expect(campaignRoom(20_000, 20_000)).toBe(15_000);
  expect(campaignRoom(5_000, 20_000)).toBe(0);
});

test('each channel has its room, by the header as by the answer of the outbox', () => {
  const rooms = { marketing_email: 15_000, marketing_sms: 1_000, marketing_voice: 15_000 };
  expect(parseRoom('marketing=6000/20000, marketing_sms=6000/20000')).toEqual(new Map(Object.entries(rooms)));
  const channels = { email: 0, sms: 14_000, voice: 0 };
  expect(roomOf({ marketing: { undelivered: 14_000, channels, bound: 20_000 } })).toEqual(
    new Map(Object.entries(rooms)),
  );
  expect(parseRoom('transactional=5000/5000').get('transactional_email')).toBe(3_750);
});

test('a service of an earlier build has one room for all channels', () => {
  const rooms = { marketing_email: 1_000, marketing_sms: 1_000, marketing_voice: 1_000 };
  expect(parseRoom('marketing=6000/20000')).toEqual(new Map(Object.entries(rooms)));
  expect(roomOf({ marketing: { undelivered: 14_000, bound: 20_000 } })).toEqual(
    new Map(Object.entries(rooms)),
  );
});

test('a service that says nothing of its outbox has room for everything', async () => {
  const room = new OutboxRoom(async () => undefined);
  const first = await room.take('marketing_sms', demand(1_000));
  expect(first?.count).toBe(1_000);
  room.learn({ status: 202, headers: {}, body: undefined });
  first?.end();
  expect((await room.take('marketing_sms', demand(1_000)))?.count).toBe(1_000);
});

test('lots are no larger than the room, and what is under way counts', async () => {
  const room = new OutboxRoom(async () => new Map([['marketing_sms' as const, 0]]));
  room.learn(answer(6_500));
  const first = await room.take('marketing_sms', demand(1_000));
  const second = await room.take('marketing_sms', demand(1_000));
  expect([first?.count, second?.count]).toEqual([1_000, 500]);
  const giveUp = new AbortController();
  const third = room.take('marketing_sms', demand(1_000, 'c1', giveUp.signal));
  setTimeout(() => giveUp.abort(), 20);
  expect(await third).toBeUndefined();
});

test('a campaign that waits goes on as soon as the service has room for a lot', async () => {
  let free = 10;
  const room = new OutboxRoom(async () => new Map([['marketing_sms' as const, free]]));
  room.learn(answer(5_000));
  const waiting = room.take('marketing_sms', demand(1_000));
  setTimeout(() => {
    free = 400;
  }, 50);
  expect((await waiting)?.count).toBe(400);
});

test('campaigns that wait share the room, each in its turn', async () => {
  const room = new OutboxRoom(async () => undefined);
  room.learn(answer(5_000));
  const counts: Record<string, number> = { a: 0, b: 0 };
  let open = true;
  const page = async (campaign: string) => {
    while (open) {
      const lot = await room.take('marketing_sms', demand(1_000, campaign));
      counts[campaign] = (counts[campaign] ?? 0) + (lot?.count ?? 0);
      await Promise.resolve();
      lot?.end();
      await new Promise((turn) => setImmediate(turn));
    }
  };
  const pages = [...Array.from({ length: 8 }, () => page('a')), page('b')];
  for (let i = 0; i < 40; i++) {
    room.learn(answer(6_000));
    room.learn(answer(5_000));
    await new Promise((turn) => setTimeout(turn, 2));
  }
  open = false;
  room.learn(answer(20_000));
  await Promise.all(pages);
  expect(counts.b).toBeGreaterThan(0.25 * (counts.a as number));
});
