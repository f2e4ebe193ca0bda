import { MockActivityEnvironment } from '@temporalio/testing';
import { type Kysely, sql } from 'kysely';
import { createActivities } from '../../activities';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { offerChunk, takePage } from '../../src/campaigns/runs/ledger';
import { readCounts } from '../../src/campaigns/runs/ledger-counts';
import { createLog } from '../../src/log';
import { plantAudience } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

/** Calls of a run within its limit of concurrent ones, also after a process that was killed. */
describeWithDatabase('starting calls', (database) => {
  const LIMIT = 2;
  let db: Kysely<CampaignTables>;
  let runId: string;
  let started: number[];
  let running: MockActivityEnvironment[];

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });
  beforeEach(async () => {
    started = [];
    running = [];
    ({ runId } = await plantAudience(db, { contacts: 2 * LIMIT, channel: 'voice' }));
    const options = JSON.stringify({ delivery: { maxConcurrentCalls: LIMIT } });
    await sql`update campaigns set options = ${options}::jsonb where current_run = ${runId}`.execute(db);
  });

  function startCalls(): Promise<unknown> {
    const unused = async () => undefined;
    const signals = {
      startCall: async ({ seq }: { seq: number }) => {
        started.push(seq);
      },
      ...{ wakeCall: unused, launchRun: unused, removeSchedule: unused },
    };
    const gatewayFor = () => {
      throw new Error('Starting calls sends nothing');
    };
    const { voice } = createActivities({ db, gatewayFor, signals, log: createLog('silent') });
    const environment = new MockActivityEnvironment();
    running.push(environment);
    return environment.run(voice.startCalls, { runId, shard: 0 }).catch((error: unknown) => error);
  }
  async function stop(work: Promise<unknown>): Promise<void> {
    for (const environment of running) environment.cancel();
    await work;
  }

  test('begins as many as the limit, and more when these have ended', async () => {
    const work = startCalls();
    await until('the first calls', () => started.length === LIMIT);
    await sql`update recipients set state = 'delivered' where run_id = ${runId} and seq < ${LIMIT}`.execute(
      db,
    );
    await sql`
      update shard_counts set count = count - ${LIMIT} where run_id = ${runId} and state = 'sending'`.execute(
      db,
    );
    await sql`
      insert into shard_counts (run_id, channel, shard, state, count)
      values (${runId}, 'voice', 0, 'delivered', ${LIMIT})`.execute(db);
    await until('the others', () => started.length === 2 * LIMIT);
    await stop(work);
    expect(started).toEqual([0, 1, 2, 3]);
  });

  test('begins none for recipients whose time is over, and needs no permit to end them', async () => {
    const options = JSON.stringify({ delivery: { ratePerSecond: 0.01, expireAfterSeconds: 60 } });
    await sql`update campaigns set options = ${options}::jsonb where current_run = ${runId}`.execute(db);
    await sql`insert into run_paces (run_id, rate) values (${runId}, 0.01)`.execute(db);
    await sql`update recipients set due_at = now() - interval '1 hour' where run_id = ${runId}`.execute(db);
    await startCalls();
    expect(started).toEqual([]);
    const { voice } = await readCounts(db, runId);
    expect(voice).toMatchObject({ total: 2 * LIMIT, expired: 2 * LIMIT });
  });

  test('finishes a page as large as the limit that a killed process left open', async () => {
    const taking = await takePage(db, { runId, channel: 'voice', shard: 0, lane: 0 }, LIMIT);
    if (taking.kind !== 'page') throw new Error('There is no page');
    await offerChunk(db, taking.page, LIMIT);
    const work = startCalls();
    await until('the calls of the page', () => started.length === LIMIT, 10_000);
    await stop(work);
    expect(started).toEqual([0, 1]);
    expect(await db.selectFrom('pages').selectAll().where('run_id', '=', runId).execute()).toEqual([]);
  });
});
