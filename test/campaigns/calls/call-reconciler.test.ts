/** Proves that calls without a workflow get one, with what the ledger knows of them, and that others are left alone. */

import { type Kysely, sql } from 'kysely';
import {
  callPolicyOf,
  LaunchedCalls,
  type OpenCall,
  progressOf,
} from '../../../src/campaigns/calls/call-reconciler';
import { openCall, recordStep, withdrawCall } from '../../../src/campaigns/calls/calls';
import type { CallEndings, CallReviver } from '../../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { plantAudience } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

type Revived = Parameters<CallReviver['reviveCall']>[0];
type Told = Parameters<CallEndings['callEnded']>[0];

describeWithDatabase('calls that may have lost their workflow', (database) => {
  let db: Kysely<CampaignTables>;
  beforeEach(async () => {
    db = (await database.open()).tables<CampaignTables>();
    await sql`delete from runs`.execute(db);
  });

  /** A run whose page has begun the calls of `taken` recipients. */
  async function takenRun(contacts: number, taken = contacts): Promise<string> {
    const { runId } = await plantAudience(db, { contacts, channel: 'voice' });
    await sql`update runs set phase = 'running' where id = ${runId}`.execute(db);
    const page = await takePage(db, { runId, channel: 'voice', shard: 0, lane: 0 }, taken);
    if (page.kind !== 'page') throw new Error('no page');
    await offerChunk(db, page.page, taken);
    await recordChunk(db, page.page, []);
    return runId;
  }

  async function busyUntil(runId: string, seq: number, attempt: number, secondsAgo: number): Promise<void> {
    await openCall(db, { runId, seq, attempt });
    await sql`
      update calls set ended_at = now(), heard_at = now(), outcome = 'busy', live = null
      where run_id = ${runId} and seq = ${seq} and attempt = ${attempt}`.execute(db);
    await recordStep(db, { runId, seq, attempt }, { kind: 'redial', afterSeconds: -secondsAgo }, 'busy');
  }

  /** As if its last word had been so long ago. */
  const age = (runId: string, seq: number, set: 'placed_at' | 'heard_at') =>
    sql`
    update calls set ${sql.ref(set)} = now() - interval '10 minutes' where run_id = ${runId} and seq = ${seq}`.execute(
      db,
    );

  function reviving() {
    const revived: Revived[] = [];
    const told: Told[] = [];
    const calls = new LaunchedCalls(
      db,
      { reviveCall: async (call) => void revived.push(call) },
      { callEnded: async (call) => void told.push(call) },
      {},
    );
    return { revived, told, look: () => calls.look(), seqs: () => revived.map(({ seq }) => seq).sort() };
  }

  test('a sleeping call that is overdue continues after the calls that ended; one that is not due is left', async () => {
    const runId = await takenRun(3);
    await busyUntil(runId, 0, 1, 60);
    await busyUntil(runId, 1, 1, -600);
    // A due redial may be a little late.
    await busyUntil(runId, 2, 1, 5);
    const { look, revived } = reviving();
    await look();
    expect(revived).toEqual([
      {
        ...{ runId, seq: 0, from: 1, policy: callPolicyOf({}, {}) },
        goOn: { calls: [{ outcome: 'busy' }], placed: false, canceled: false, endings: [] },
      },
    ]);
    await look();
    expect(revived).toHaveLength(1);
  });

  test('a call that nothing was heard of is asked for again, one that rang is waited for', async () => {
    const runId = await takenRun(4);
    for (const seq of [0, 1, 2]) await openCall(db, { runId, seq, attempt: 1 });
    await age(runId, 0, 'placed_at');
    await age(runId, 1, 'placed_at');
    await age(runId, 1, 'heard_at');
    // Recipient 2 was called just now. Of recipient 3 nothing is written yet.
    const { look, revived, seqs } = reviving();
    await look();
    expect(seqs()).toEqual([0, 1, 3]);
    const placed = Object.fromEntries(revived.map(({ seq, goOn }) => [seq, goOn.placed]));
    expect(placed).toEqual({ 0: false, 1: true, 3: false });
    expect(revived.flatMap(({ goOn }) => goOn.calls)).toEqual([]);
  });

  test('a workflow that was not told of the end of its call is told, and one is left that decides at this moment', async () => {
    const runId = await takenRun(3);
    for (const seq of [0, 1, 2]) await openCall(db, { runId, seq, attempt: 1 });
    const end = (seq: number, secondsAgo: number) =>
      sql`
      update calls set ended_at = now() - make_interval(secs => ${secondsAgo}), outcome = 'busy', live = null
      where run_id = ${runId} and seq = ${seq}`.execute(db);
    await end(0, 60);
    await end(1, 5);
    const { look, told, seqs } = reviving();
    await look();
    expect(told).toMatchObject([{ runId, seq: 0, from: 1, attempt: 1, end: 'busy' }]);
    expect(seqs()).toEqual([0]);
    await look();
    expect(told).toHaveLength(1);
  });

  test('recipients of an open page, untaken ones, and those of ended or paused runs are left', async () => {
    const open = await plantAudience(db, { contacts: 4, channel: 'voice' });
    await sql`update runs set phase = 'running' where id = ${open.runId}`.execute(db);
    await takePage(db, { runId: open.runId, channel: 'voice', shard: 0, lane: 0 }, 2);
    const paused = await takenRun(1);
    await sql`update runs set control = 'pause' where id = ${paused}`.execute(db);
    const ended = await takenRun(1);
    await sql`update runs set phase = 'completed' where id = ${ended}`.execute(db);
    const { look, revived } = reviving();
    await look();
    expect(revived).toEqual([]);
    await sql`update runs set control = 'run' where id = ${paused}`.execute(db);
    await look();
    expect(revived).toMatchObject([{ runId: paused, seq: 0 }]);
  });

  test('a refused call is no attempt, and an end that was not decided on is decided on', async () => {
    const runId = await takenRun(2);
    const key = (seq: number): OpenCall => ({ runId, seq, from: 1, attempt: 2, state: 'sending' });
    for (const seq of [0, 1]) {
      await busyUntil(runId, seq, 1, 60);
      await openCall(db, { runId, seq, attempt: 2 });
    }
    await withdrawCall(db, { runId, seq: 0, attempt: 2 });
    await sql`
      update calls set ended_at = now(), outcome = 'completed' where run_id = ${runId} and seq = 1 and attempt = 2`.execute(
      db,
    );
    const policy = callPolicyOf({}, {});
    const calls = [{ outcome: 'busy' }];
    expect(await progressOf(db, key(0), policy)).toMatchObject({ calls, placed: false });
    expect(await progressOf(db, key(1), policy)).toMatchObject({ calls, placed: true });
  });
});
