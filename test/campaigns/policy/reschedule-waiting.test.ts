import { type Kysely, sql } from 'kysely';
import { freezeAudience } from '../../../src/campaigns/audience/audience';
import { audienceOf } from '../../../src/campaigns/audience/audience-sql';
import { lookAgain, recallWaiting } from '../../../src/campaigns/audience/reschedule-waiting';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { createPolicies } from '../../../src/campaigns/policy/policy';
import { offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { loadRun } from '../../../src/campaigns/runs/runs';
import type { Channel } from '../../../src/domain/channel';
import { LIMITS } from '../../../src/domain/limits';
import { NO_POLICY } from '../../../src/domain/policy';
import { newId } from '../../../src/storage/new-id';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

const HOUR_MS = 3_600_000;
const clock = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString().slice(11, 16);
const quietUntil = (hours: number) => ({
  ...NO_POLICY,
  quietHours: {
    ...{ from: clock(-2), to: clock(hours), timezone: 'UTC' },
    channels: ['sms' as const, 'voice' as const],
    classes: ['marketing' as const],
  },
});

describeWithDatabase('recipients who wait by a policy that is replaced', (database) => {
  let db: Kysely<CampaignTables>;
  let workspaceId: string;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(() => {
    workspaceId = newId('wsp');
  });

  const setPolicy = (policy: Parameters<ReturnType<typeof createPolicies>['replace']>[1]) =>
    createPolicies({ db }).replace(workspaceId, policy);

  /** Frozen under the policy of that moment, as a run's workflow does it. */
  async function freeze(contacts: number, channel: Channel = 'sms', options: Record<string, unknown> = {}) {
    const { runId } = await plantRun(db, { contacts, channel, workspaceId, options });
    const run = await loadRun(db, runId);
    const audience = audienceOf(run, channel, ['NAME'], undefined);
    await freezeAudience(db, { runId, policyVersion: run.policyVersion, ...audience });
    await sql`update runs set phase = 'running' where id = ${runId}`.execute(db);
    return runId;
  }
  const recall = async (runId: string, onStep?: () => void) =>
    recallWaiting(db, await loadRun(db, runId), onStep ? { onStep } : {});
  const recipients = (runId: string) =>
    db
      .selectFrom('recipients')
      .select(['seq', 'state', 'code', 'due_at', 'retry_at', 'attempts', 'call_from'])
      .where('run_id', '=', runId)
      .orderBy('seq')
      .execute();
  const take = (runId: string, channel: Channel = 'sms') =>
    takePage(db, { runId, channel, shard: 0, lane: 0 }, 10);
  // Plus zero: a moment ago is no other hour than now.
  const inHours = (at: Date | null | undefined) =>
    Math.round(((at?.getTime() ?? 0) - Date.now()) / HOUR_MS) + 0;

  test('and were never taken on fall due at once when its quiet hours are lifted', async () => {
    await setPolicy(quietUntil(3));
    const runId = await freeze(3);
    expect((await recipients(runId)).map(({ due_at }) => inHours(due_at))).toEqual([3, 3, 3]);
    expect((await take(runId)).kind).toBe('idle');
    await setPolicy(NO_POLICY);
    await recall(runId);
    expect((await recipients(runId)).map(({ due_at }) => inHours(due_at))).toEqual([0, 0, 0]);
    expect((await readCounts(db, runId)).sms).toMatchObject({ pending: 3, waiting: 0 });
    expect(await take(runId)).toMatchObject({ kind: 'page', page: { size: 3 } });
  });

  test('fall due sooner when they are shortened, and not later when they are longer', async () => {
    await setPolicy(quietUntil(5));
    const runId = await freeze(1);
    await setPolicy(quietUntil(2));
    await recall(runId);
    expect((await recipients(runId)).map(({ due_at }) => inHours(due_at))).toEqual([2]);
    await setPolicy(quietUntil(8));
    await recall(runId);
    expect((await recipients(runId)).map(({ due_at }) => inHours(due_at))).toEqual([2]);
    expect((await loadRun(db, runId)).followedPolicy).toBe(3);
  });

  test('and were put off by hours or by a cap are asked about again, and nobody else', async () => {
    await setPolicy(quietUntil(3));
    const runId = await freeze(5);
    await setPolicy(NO_POLICY);
    await sql`
      update recipients set state = t.state, code = t.code, retry_at = now() + interval '3 hours'
      from (values (0, 'waiting', 'quiet_hours'), (1, 'waiting', 'frequency_cap'), (2, 'waiting', 'overloaded'),
        (3, 'failed', 'quiet_hours')) as t(seq, state, code)
      where run_id = ${runId} and recipients.seq = t.seq`.execute(db);
    await sql`update shards set next_seq = 5 where run_id = ${runId}`.execute(db);
    await recall(runId);
    const rows = await recipients(runId);
    expect(rows.slice(0, 4).map(({ retry_at }) => inHours(retry_at))).toEqual([0, 0, 3, 3]);
    // In somebody's hands already.
    expect(inHours(rows[4]?.due_at)).toBe(3);
  });

  test('and are in doubt are asked about again once their hours open, and not before the delay of their next attempt', async () => {
    await setPolicy(quietUntil(3));
    const runId = await freeze(2);
    await setPolicy(NO_POLICY);
    await sql`
      update recipients set state = 'waiting', code = 'answer_lost', retry_at = now() + t.till, updated_at = now() - t.since
      from (values (0, interval '3 hours', interval '1 hour'), (1, interval '14 minutes', interval '0')) as t(seq, till, since)
      where run_id = ${runId} and recipients.seq = t.seq`.execute(db);
    await sql`update shards set next_seq = 2 where run_id = ${runId}`.execute(db);
    await recall(runId);
    const minutes = (at: Date | null) => Math.round(((at?.getTime() ?? 0) - Date.now()) / 60_000) + 0;
    expect((await recipients(runId)).map(({ retry_at }) => minutes(retry_at))).toEqual([0, 14]);
  });

  test('keep the hour that the campaign itself gave them, and their order', async () => {
    await setPolicy({
      ...quietUntil(20),
      quietHours: { ...quietUntil(20).quietHours, timezone: 'recipient', channels: ['sms'] },
    });
    const startAt = new Date(Date.now() + 4 * HOUR_MS).toISOString();
    const { runId, listId } = await plantRun(db, {
      contacts: 3,
      workspaceId,
      options: { schedule: { startAt, recipientLocal: true } },
    });
    for (const [i, zone] of ['Etc/GMT+1', 'Etc/GMT-1', 'UTC'].entries()) {
      await sql`update contacts set timezone = ${zone} where id = ${`${listId}-000000${i + 1}`}`.execute(db);
    }
    const run = await loadRun(db, runId);
    await freezeAudience(db, {
      runId,
      policyVersion: run.policyVersion,
      ...audienceOf(run, 'sms', ['NAME'], undefined),
    });
    await sql`update runs set phase = 'running' where id = ${runId}`.execute(db);
    await setPolicy(NO_POLICY);
    await recall(runId);
    expect((await recipients(runId)).map(({ due_at }) => inHours(due_at))).toEqual([3, 4, 5]);
  });

  test('are done again from the beginning when it was broken off, and only once when it was not', async () => {
    await setPolicy(quietUntil(3));
    const runId = await freeze(2);
    await setPolicy(NO_POLICY);
    const killed = () => {
      throw new Error('killed');
    };
    await expect(recall(runId, killed)).rejects.toThrow('killed');
    expect((await loadRun(db, runId)).followedPolicy).toBe(1);
    await recall(runId);
    expect((await recipients(runId)).map(({ due_at }) => inHours(due_at))).toEqual([0, 0]);
    await recall(runId, killed);
  });

  test('are found in every range of a long run', async () => {
    await setPolicy(quietUntil(3));
    const runId = await freeze(LIMITS.recallRange + 5);
    await setPolicy(NO_POLICY);
    await recall(runId);
    const late = (await recipients(runId)).filter(({ due_at }) => inHours(due_at) > 0);
    expect(late).toEqual([]);
  });

  test('are judged by the new one when they are put off by the old one meanwhile', async () => {
    await setPolicy(quietUntil(3));
    const runId = await freeze(2);
    await sql`update recipients set due_at = now() where run_id = ${runId}`.execute(db);
    const run = await loadRun(db, runId);
    const taking = await take(runId);
    if (taking.kind !== 'page') throw new Error('no page');
    const offered = await offerChunk(db, taking.page, 2);
    await setPolicy(NO_POLICY);
    await recall(runId);
    const retryAt = new Date(Date.now() + 3 * HOUR_MS);
    const held = offered.map(({ seq }) => ({
      ...{ seq, state: 'waiting' as const, code: 'quiet_hours', retryAt, attempted: false },
    }));
    await recordChunk(db, taking.page, held, (tx) => lookAgain(tx, run, 'sms', [0]));
    expect((await recipients(runId)).map(({ retry_at }) => inHours(retry_at))).toEqual([0, 3]);
    const again = await loadRun(db, runId);
    await db
      .transaction()
      .execute((tx) => lookAgain(tx, { ...again, policyVersion: again.policyVersion }, 'sms', [1]));
    expect((await recipients(runId)).map(({ retry_at }) => inHours(retry_at))).toEqual([0, 3]);
  });
});
