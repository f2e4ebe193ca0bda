import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import {
  endCalls,
  giveBackTokens,
  type SenderKey,
  silenceSender,
  takeTokens,
} from '../../../src/messaging/senders/sender-limit-bucket';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';

/** So slow that nothing comes back while a test runs. */
const STILL = 0.000_001;

describeWithDatabase('a token bucket', (database) => {
  let db: Kysely<MessagingTables>;
  let key: SenderKey;
  beforeAll(async () => {
    db = (await database.open({ poolSize: 8 })).tables<MessagingTables>();
  });
  beforeEach(() => {
    key = { workspaceId: newId('ws'), channel: 'sms', sender: '12345' };
  });

  const demand = (...costs: number[]) => {
    let sum = 0;
    return { ids: costs.map((_, i) => `m${i}`), costs: costs.map((cost) => (sum += cost)) };
  };

  test('gives what it holds, and keeps the order of what is asked for', async () => {
    const limit = { rate: STILL, burst: 10 };
    expect(await takeTokens(db, key, limit, demand(4, 3, 4, 1))).toMatchObject({ granted: 2 });
    expect((await takeTokens(db, key, limit, demand(4))).granted).toBe(0);
    const third = await takeTokens(db, key, limit, demand(1, 1, 1, 1));
    expect(third).toMatchObject({ granted: 3, silentMs: 0, calls: 0 });
    expect(third.tokens).toBeCloseTo(0, 3);
  });

  test('lets what is larger than itself pass when it is full, and is in debt then', async () => {
    const limit = { rate: STILL, burst: 3 };
    expect(await takeTokens(db, key, limit, demand(10, 1))).toMatchObject({ granted: 1 });
    const after = await takeTokens(db, key, limit, demand(1));
    expect(after.granted).toBe(0);
    expect(after.tokens).toBeCloseTo(-7, 3);
  });

  test('takes back what was not used', async () => {
    const limit = { rate: STILL, burst: 5 };
    await takeTokens(db, key, limit, demand(5));
    await giveBackTokens(db, key, { ids: ['m0'], cost: 5 });
    await giveBackTokens(db, key, { ids: ['m0'], cost: 500 });
    expect(await takeTokens(db, key, limit, demand(5, 1))).toMatchObject({ granted: 1 });
  });

  test('fills by the time that has passed, and no further than it holds', async () => {
    const limit = { rate: 200, burst: 10 };
    await takeTokens(db, key, limit, demand(10));
    await until('it is full again', async () => (await takeTokens(db, key, limit, demand(9))).granted === 1);
    await delay(100);
    expect((await takeTokens(db, key, limit, demand(11, 1))).granted).toBe(1);
    expect((await takeTokens(db, key, limit, demand(9))).granted).toBe(0);
  });

  test('pauses as long as the provider asked, for the longer of two pauses', async () => {
    const limit = { rate: 1_000, burst: 10 };
    await silenceSender(db, key, limit, 60_000);
    await silenceSender(db, key, limit, 1_000);
    const during = await takeTokens(db, key, limit, demand(1));
    expect(during.granted).toBe(0);
    expect(during.silentMs).toBeGreaterThan(50_000);
    const other = { ...key, sender: '999' };
    await silenceSender(db, other, limit, 1);
    await until('it is over', async () => (await takeTokens(db, other, limit, demand(1))).granted === 1);
  });

  test('counts calls until they end', async () => {
    const limit = { concurrentCalls: 2 };
    const voice: SenderKey = { ...key, channel: 'voice', sender: '+12025550100' };
    const calls = (...ids: string[]) => ({ ids, costs: ids.map((_, i) => i + 1) });
    expect(await takeTokens(db, voice, limit, calls('a', 'b', 'c'))).toMatchObject({ granted: 2, calls: 2 });
    expect(await takeTokens(db, voice, limit, calls('c'))).toMatchObject({ granted: 0, calls: 2 });
    // The same call asked for again has its place already.
    expect(await takeTokens(db, voice, limit, calls('a'))).toMatchObject({ granted: 1, calls: 2 });
    await endCalls(db, voice.workspaceId, ['b', 'x']);
    expect(await takeTokens(db, voice, limit, calls('c', 'd'))).toMatchObject({ granted: 1, calls: 2 });
  });

  test('gives up the slot of a call whose end was never reported', async () => {
    const limit = { concurrentCalls: 1 };
    const voice: SenderKey = { ...key, channel: 'voice' };
    await takeTokens(db, voice, limit, { ids: ['a'], costs: [1] });
    expect((await takeTokens(db, voice, limit, { ids: ['b'], costs: [1] })).granted).toBe(0);
    await db
      .updateTable('sender_buckets')
      .set({ calls: JSON.stringify({ a: Date.now() / 1_000 - 1 }) })
      .where('workspace_id', '=', voice.workspaceId)
      .execute();
    expect(await takeTokens(db, voice, limit, { ids: ['b'], costs: [1] })).toMatchObject({
      granted: 1,
      calls: 1,
    });
  });

  test('gives many takers at once no more than its rate and its burst', async () => {
    const limit = { rate: 300, burst: 20 };
    const startedAt = performance.now();
    let [asked, granted] = [0, 0];
    const endAt = startedAt + 1_500;
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        while (performance.now() < endAt) {
          asked += 1;
          const grant = await takeTokens(db, key, limit, demand(1, 1, 1));
          granted += grant.granted;
        }
      }),
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(granted).toBeLessThanOrEqual(300 * seconds + 20);
    // A busy machine asks for less than there is, and then is refused little of it.
    expect(granted).toBeGreaterThan(Math.min(asked, 300 * 1.5 + 20) * 0.75);
  });

  test('never has more calls under way than it may, however many ask at once', async () => {
    const limit = { concurrentCalls: 5 };
    const voice: SenderKey = { ...key, channel: 'voice' };
    const live = new Set<string>();
    let most = 0;
    await Promise.all(
      Array.from({ length: 8 }, async (_, taker) => {
        for (let i = 0; i < 25; i++) {
          const ids = [`${taker}-${i}-a`, `${taker}-${i}-b`];
          const { granted } = await takeTokens(db, voice, limit, { ids, costs: [1, 2] });
          for (const id of ids.slice(0, granted)) live.add(id);
          most = Math.max(most, live.size);
          const over = ids.slice(0, granted);
          for (const id of over) live.delete(id);
          if (over.length > 0) await endCalls(db, voice.workspaceId, over);
        }
      }),
    );
    expect(most).toBeLessThanOrEqual(5);
    expect(most).toBeGreaterThan(1);
  });
});
