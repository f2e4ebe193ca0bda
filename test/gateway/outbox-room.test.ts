import { campaignRoom, OutboxRoom, parseRoom, roomOf } from '../../src/gateway/outbox-room';

const never = new AbortController().signal;
const answer = (free: number) => ({
  status: 207,
  headers: { 'x-outbox-room': `marketing=${free}/20000, transactional=5000/5000` },
  body: undefined,
});
const demand = (most: number, campaign = 'c1', signal = never) => ({
  ...{ campaign, run: campaign, most, signal },
  countInOutbox: async () => 15_000,
});
const empty = { shared: 15_000, beside: 17_500 };
const nearlyFull = { shared: 1_000, beside: 3_500 };

test('a campaign stops at three quarters of either bound', () => {
  expect(campaignRoom(20_000, 20_000).shared).toBe(15_000);
  expect(campaignRoom(5_000, 20_000).shared).toBe(0);
});

test('each channel has its room, by the header as by the answer of the outbox', () => {
  const rooms = { marketing_email: empty, marketing_sms: nearlyFull, marketing_voice: empty };
  expect(parseRoom('marketing=6000/20000, marketing_sms=6000/20000')).toEqual(new Map(Object.entries(rooms)));
  const channels = { email: 0, sms: 14_000, voice: 0 };
  expect(roomOf({ marketing: { undelivered: 14_000, channels, bound: 20_000 } })).toEqual(
    new Map(Object.entries(rooms)),
  );
  expect(parseRoom('transactional=5000/5000').get('transactional_email')?.shared).toBe(3_750);
});

test('a service of an earlier build has one room for all channels', () => {
  const rooms = { marketing_email: nearlyFull, marketing_sms: nearlyFull, marketing_voice: nearlyFull };
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
  const room = new OutboxRoom(async () => new Map([['marketing_sms' as const, { shared: 0, beside: 0 }]]));
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
  const room = new OutboxRoom(
    async () => new Map([['marketing_sms' as const, { shared: free, beside: free }]]),
  );
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

describe('where others have filled what campaigns share', () => {
  /** As the service would say it: what campaigns have in the outbox of 20,000. */
  let held: Map<string, number>;
  let room: OutboxRoom;
  const sum = () => [...held.values()].reduce((all, count) => all + count, 0);
  beforeEach(() => {
    held = new Map([['stuck', 15_000]]);
    room = new OutboxRoom(
      async () => new Map([['marketing_sms' as const, campaignRoom(20_000 - sum(), 20_000)]]),
    );
    room.learn(answer(20_000 - sum()));
  });
  /** What a campaign that offers 5,000 in several pages gets into the outbox within half a second. */
  const fill = async (campaign: string, run = campaign, pages = 2): Promise<void> => {
    const over = AbortSignal.timeout(500);
    const page = async () => {
      for (;;) {
        const countInOutbox = async () => held.get(run) ?? 0;
        const lot = await room.take('marketing_sms', {
          ...demand(1_000, campaign, over),
          run,
          countInOutbox,
        });
        if (!lot) return;
        held.set(run, (held.get(run) ?? 0) + lot.count);
        lot.end();
      }
    };
    await Promise.all(Array.from({ length: pages }, page));
  };

  test('one that has nothing in the outbox goes on, and those that fill it do not', async () => {
    await Promise.all([fill('stuck'), fill('beside')]);
    expect(held.get('stuck')).toBe(15_000);
    expect(held.get('beside')).toBeGreaterThanOrEqual(250);
    expect(held.get('beside')).toBeLessThanOrEqual(625);
  });

  test('the next occurrence of one that fills the outbox goes on', async () => {
    await Promise.all([fill('stuck'), fill('stuck', 'next occurrence')]);
    expect(held.get('stuck')).toBe(15_000);
    expect(held.get('next occurrence')).toBeGreaterThanOrEqual(250);
    expect(held.get('next occurrence')).toBeLessThanOrEqual(625);
  });

  test('a dozen that cannot send leave something for the next, and an eighth for own sends', async () => {
    for (let i = 0; i < 12; i++) await fill(`stuck too ${i}`);
    expect(sum()).toBeLessThanOrEqual(17_500);
    await fill('beside');
    expect(held.get('beside')).toBeGreaterThan(0);
  }, 15_000);
});
