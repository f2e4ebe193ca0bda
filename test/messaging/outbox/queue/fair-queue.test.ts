import fc from 'fast-check';
import {
  FairQueue,
  type FlowKey,
  TRANSACTIONAL_RUN,
} from '../../../../src/messaging/outbox/queue/fair-queue';

interface Item {
  key: FlowKey;
  n: number;
}

const flow = fc.record({
  class: fc.constantFrom('marketing' as const, 'transactional' as const),
  workspaceId: fc.constantFrom('w1', 'w2', 'w3'),
  campaign: fc.constantFrom('c1', 'c2', undefined),
  sender: fc.constantFrom('s1', 's2'),
});
/** Many of one flow in a row, as a campaign brings them, and takings in between. */
const action = fc.oneof(
  fc.record({ key: flow, count: fc.integer({ min: 1, max: 60 }) }),
  fc.record({ take: fc.integer({ min: 1, max: 40 }) }),
);

const nameOf = ({ workspaceId, campaign, sender, class: kind }: FlowKey) =>
  `${kind}/${workspaceId}/${campaign}/${sender}`;

test('for any order of arrival, each flow keeps its order and nothing is lost', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const queue = new FairQueue<Item>();
      const given = new Map<string, number>();
      const taken = new Map<string, number>();
      const take = () => {
        const item = queue.take();
        if (!item) return false;
        const name = nameOf(item.key);
        expect(item.n).toBe(taken.get(name) ?? 0);
        taken.set(name, item.n + 1);
        return true;
      };
      for (const one of actions) {
        if ('take' in one) {
          for (let i = 0; i < one.take; i++) take();
          continue;
        }
        for (let i = 0; i < one.count; i++) {
          const n = given.get(nameOf(one.key)) ?? 0;
          given.set(nameOf(one.key), n + 1);
          queue.push(one.key, { key: one.key, n });
        }
      }
      while (take());
      expect(queue.size()).toBe(0);
      expect([...taken].sort()).toEqual([...given].sort());
    }),
  );
});

test('for any order of arrival, no flow waits longer than its bound', () => {
  fc.assert(
    fc.property(
      fc.array(action, { maxLength: 60 }),
      flow,
      fc.integer({ min: 0, max: 50 }),
      (actions, mine, after) => {
        const queue = new FairQueue<Item>();
        const others = actions.flatMap((one) => ('take' in one ? [] : [one]));
        for (const { key, count } of others) {
          if (nameOf(key) === nameOf(mine)) continue;
          for (let n = 0; n < count; n++) queue.push(key, { key, n });
        }
        for (let i = 0; i < after; i++) queue.take();
        queue.push(mine, { key: mine, n: 0 });
        const same = others.filter(({ key }) => key.class === mine.class).map(({ key }) => key);
        const inWorkspace = same.filter(({ workspaceId }) => workspaceId === mine.workspaceId);
        const inCampaign = inWorkspace.filter(({ campaign }) => campaign === mine.campaign);
        const distinct = (values: unknown[]) => new Set(values).size;
        const bound =
          distinct([...same.map((key) => key.workspaceId), mine.workspaceId]) *
          distinct([...inWorkspace.map((key) => key.campaign), mine.campaign]) *
          distinct([...inCampaign.map((key) => key.sender), mine.sender]);
        let sameClass = 0;
        let all = 0;
        for (let item = queue.take(); item; item = queue.take()) {
          all += 1;
          if (item.key.class === mine.class) sameClass += 1;
          if (nameOf(item.key) === nameOf(mine)) break;
        }
        expect(sameClass).toBeLessThanOrEqual(bound);
        // A marketing message gets its turn between transactional ones, and these before all but one of marketing.
        const share = mine.class === 'marketing' ? TRANSACTIONAL_RUN + 1 : 1 + 1 / TRANSACTIONAL_RUN;
        expect(all).toBeLessThanOrEqual(Math.ceil(bound * share) + TRANSACTIONAL_RUN);
      },
    ),
  );
});

test('workspaces share by messages, whatever they have waiting', () => {
  const queue = new FairQueue<Item>();
  const push = (count: number, workspaceId: string, campaign: string) => {
    const key: FlowKey = { class: 'marketing', workspaceId, campaign, sender: 's' };
    for (let n = 0; n < count; n++) queue.push(key, { key, n });
  };
  push(1_000, 'w1', 'c1');
  push(10, 'w1', 'c2');
  push(10, 'w2', 'c3');
  const first = Array.from({ length: 40 }, () => queue.take()?.key.campaign);
  const count = (campaign: string) => first.filter((one) => one === campaign).length;
  expect([count('c1'), count('c2'), count('c3')]).toEqual([20, 10, 10]);
});

test('what was taken and did not leave goes to the front of its flow', () => {
  const queue = new FairQueue<Item>();
  const key: FlowKey = { class: 'marketing', workspaceId: 'w', campaign: undefined, sender: 's' };
  for (const n of [1, 2, 3, 4]) queue.push(key, { key, n });
  const taken = [queue.take(), queue.take()].flatMap((item) => item ?? []);
  queue.putBack(taken, () => key);
  expect(queue.remove(({ n }) => n === 3)).toEqual([{ key, n: 3 }]);
  expect([1, 2, 3, 4].map(() => queue.take()?.n)).toEqual([1, 2, 4, undefined]);
});

test('marketing has its turn after eight transactional messages that left, though others were put back each time', () => {
  const queue = new FairQueue<Item>();
  for (const kind of ['transactional', 'marketing'] as const) {
    const key: FlowKey = { class: kind, workspaceId: 'w', campaign: undefined, sender: 's' };
    for (let n = 0; n < 50; n++) queue.push(key, { key, n });
  }
  const left = Array.from({ length: 6 }).flatMap(() => {
    const lot = Array.from({ length: 20 }, () => queue.take()).flatMap((item) => item ?? []);
    queue.putBack(lot.splice(3), ({ key }) => key);
    return lot.map(({ key }) => key.class);
  });
  expect(left.flatMap((kind, i) => (kind === 'marketing' ? i : []))).toEqual([8, 17]);
});

test.each([
  ['of one class', 'marketing' as const],
  ['of both classes', undefined],
])('what was taken and did not leave has its turn as before, %s', (_what, kind) => {
  const count = fc.integer({ min: 1, max: 5 });
  const small = fc.array(fc.record({ key: flow, count }), { minLength: 1, maxLength: 20 });
  const some = fc.integer({ min: 0, max: 40 });
  fc.assert(
    fc.property(small, some, some, (given, leave, stay) => {
      const queue = new FairQueue<Item>();
      const untouched = new FairQueue<Item>();
      for (const { key, count } of given) {
        for (let n = 0; n < count; n++) for (const one of [queue, untouched]) one.push(key, { key, n });
      }
      const take = (from: typeof queue) => from.take(kind) ?? [];
      for (let i = 0; i < leave; i++) expect(take(queue)).toEqual(take(untouched));
      const stayed = Array.from({ length: stay }, () => take(queue)).flat();
      queue.putBack(stayed, ({ key }) => key);
      expect(queue.size()).toBe(untouched.size());
      while (untouched.size(kind) > 0) expect(take(queue)).toEqual(take(untouched));
    }),
  );
});
