/** Proves that a run never exceeds its rate, across processes, crashes and pauses. */

import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { pageAtPace, setPace, takePermits } from '../../../src/campaigns/runs/rate-limit';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase("a run's pace", (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  const ask = (runId: string, most = 1_000, least = 0) => takePermits(db, runId, { least, most });

  async function paced(rate: number): Promise<string> {
    const runId = newId('run');
    await setPace(db, runId, rate);
    return runId;
  }

  /** As if so much time had passed. */
  async function later(runId: string, ms: number): Promise<void> {
    await sql`update run_paces set next_at = next_at - ${ms} * interval '1 millisecond'
      where run_id = ${runId}`.execute(db);
  }

  test('gives a run that has none as much as it wants', async () => {
    const runId = await paced(10);
    await setPace(db, runId, null);
    expect(await ask(runId)).toEqual({ granted: 1_000, waitMs: 0 });
    expect(await ask(newId('run'), 7)).toEqual({ granted: 7, waitMs: 0 });
  });

  test('gives lots of half a second one after the other, and none further ahead than a second', async () => {
    const runId = await paced(100);
    const lots = [await ask(runId), await ask(runId), await ask(runId)];
    expect(lots.map(({ granted }) => granted)).toEqual([50, 50, 50]);
    for (const [i, { waitMs }] of lots.entries()) {
      expect(waitMs).toBeGreaterThan(i * 500 - 400);
      expect(waitMs).toBeLessThanOrEqual(i * 500);
    }
    await ask(runId);
    const refused = await ask(runId);
    expect(refused.granted).toBe(0);
    expect(refused.waitMs).toBeGreaterThan(4);
  });

  test('allows no burst after a time without requests', async () => {
    const runId = await paced(100);
    await ask(runId);
    await later(runId, 3_600_000);
    // A quarter of a second is kept, which is half of the first lot.
    expect(await ask(runId)).toEqual({ granted: 50, waitMs: 0 });
    const second = await ask(runId);
    expect(second.granted).toBe(50);
    expect(second.waitMs).toBeGreaterThan(100);
  });

  test('gives all that is in doubt together, and lets what comes after it wait for it', async () => {
    const runId = await paced(100);
    expect((await ask(runId, 500, 500)).granted).toBe(500);
    const next = await ask(runId);
    expect(next.granted).toBe(0);
    expect(next.waitMs).toBeGreaterThan(3_000);
  });

  test('gives one at a time when half a second is less than one', async () => {
    const runId = await paced(0.01);
    expect(await ask(runId)).toEqual({ granted: 1, waitMs: 0 });
    const next = await ask(runId);
    expect(next.granted).toBe(0);
    expect(next.waitMs).toBeGreaterThan(90_000);
  });

  test('is another one at once when it is changed, however long the wait was', async () => {
    const runId = await paced(0.001);
    await ask(runId);
    await setPace(db, runId, 100);
    const { granted, waitMs } = await ask(runId);
    expect(granted).toBe(50);
    expect(waitMs).toBeLessThanOrEqual(500);
  });

  test('is kept by many who ask at once', async () => {
    const runId = await paced(1_000);
    const given: number[] = [];
    const startedAt = Date.now();
    const lane = async () => {
      for (;;) {
        const { granted, waitMs } = await ask(runId, 100);
        if (granted && Date.now() + waitMs - startedAt > 1_000) return;
        await new Promise((done) => setTimeout(done, waitMs));
        if (granted) given.push(granted);
      }
    };
    await Promise.all([lane(), lane(), lane(), lane()]);
    const total = given.reduce((sum, count) => sum + count, 0);
    // A second's worth, what is kept of the time before, and the lot that begins at the end.
    expect(total).toBeGreaterThanOrEqual(900);
    expect(total).toBeLessThanOrEqual(1_350);
  });

  test('makes pages that last some seconds', () => {
    expect(pageAtPace(undefined, 5_000)).toBe(5_000);
    expect(pageAtPace(null, 5_000)).toBe(5_000);
    expect(pageAtPace(100, 5_000)).toBe(300);
    expect(pageAtPace(0.01, 5_000)).toBe(1);
    expect(pageAtPace(100_000, 5_000)).toBe(5_000);
  });
});
