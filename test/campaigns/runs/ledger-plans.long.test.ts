import { type Kysely, sql } from 'kysely';
import { cancelUnsent } from '../../../src/campaigns/actions/cancel-run';
import { retryFailed } from '../../../src/campaigns/actions/retry-failed';
import { freezeAudience } from '../../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { listRecipients } from '../../../src/campaigns/reports/recipients';
import { type OpenPage, offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import { messageUid } from '../../../src/domain/ids';
import { LIMITS } from '../../../src/domain/limits';
import type { MessageEvent } from '../../../src/domain/message';
import { openStorage, type Storage } from '../../../src/storage/storage';
import { plantAudience, plantRun } from '../../support/audience';
import {
  type Explained,
  type ExplainingDatabase,
  nodesOf,
  openExplaining,
  rowsRead,
} from '../../support/explained';
import { describeWithDatabase } from '../../support/storage';

const RECIPIENTS = 100_000;
const CHUNK = LIMITS.chunkRecipients;
const PAGE = 2_000;

/**
 * What a run asks of the ledger costs by what is asked, not by how large the run is. A run begins before
 * anybody has analyzed what was frozen for it and goes on when that has been done, so the plans must be
 * right for both; and for parameters that are known as well as for those that are not.
 */
describeWithDatabase("the ledger's plans at 100,000 recipients", (database) => {
  let storage: Storage;
  let plain: Kysely<CampaignTables>;
  let at: ExplainingDatabase;

  beforeAll(async () => {
    const place = await database.place();
    storage = await openStorage(place);
    plain = storage.tables<CampaignTables>();
    at = await openExplaining(place);
  });
  afterAll(async () => {
    await at.close();
    await storage.close();
  });

  test('freezes contacts that were imported after the last analyze', async () => {
    await plantRun(plain, { contacts: 5_000 });
    await sql`analyze contacts, contact_list_members`.execute(plain);
    const { runId, workspaceId, channel, listId } = await plantRun(plain, { contacts: 5_000 });
    at.take();
    await freezeAudience(at.db, {
      runId,
      workspaceId,
      channel,
      contactListIds: [listId],
      placeholders: ['NAME'],
      campaignParams: {},
    });
    for (const { text, plan } of at.take()) {
      const again = [...nodesOf(plan)].filter(
        (node) => node['CTE Name'] === 'member' && (node['Actual Loops'] ?? 0) > 1,
      );
      expect({ text, again }).toEqual({ text, again: [] });
      expect(rowsRead(plan, 'contacts')).toBeLessThanOrEqual(5_000);
    }
  });

  describe.each([
    ['as it was frozen', false],
    ['analyzed', true],
  ])('of a run %s', (_title, analyzed) => {
    let run: Awaited<ReturnType<typeof plantRun>>;

    beforeAll(async () => {
      run = await plantAudience(plain, { contacts: RECIPIENTS });
      if (analyzed) await sql`analyze recipients, shards, pages, runs`.execute(plain);
      at.take();
    }, 150_000);

    async function openPage(shard: number, lane = 0): Promise<OpenPage> {
      const taking = await takePage(at.db, { runId: run.runId, channel: 'sms', shard, lane }, PAGE);
      if (taking.kind !== 'page') throw new Error(`expected a page, got ${taking.kind}`);
      return taking.page;
    }

    test('opens a page by its last recipient', async () => {
      await openPage(0);
      expectBounded(at.take(), 2);
    });

    test('takes an open page over without looking at its recipients', async () => {
      await openPage(0);
      expectBounded(at.take(), 0);
    });

    test('offers and records a chunk by its range', async () => {
      const page = await openPage(0);
      at.take();
      const offered = await offerChunk(at.db, page, CHUNK);
      expect(offered).toHaveLength(CHUNK);
      expectBounded(at.take(), CHUNK);
      await recordChunk(
        at.db,
        page,
        offered.map(({ seq }) => ({ seq, state: 'failed', attempted: true, attempt: 0, code: 'x' })),
      );
      expectBounded(at.take(), FOUND_AND_WRITTEN * CHUNK);
    });

    test('records a chunk that the service took by one statement, and looks at no recipient for it', async () => {
      const page = await openPage(0);
      const offered = await offerChunk(at.db, page, CHUNK);
      at.take();
      await recordChunk(
        at.db,
        page,
        offered.map(({ seq }) => ({ seq, state: 'accepted', attempted: true, attempt: 0 })),
      );
      const statements = at.take();
      expect(statements).toHaveLength(1);
      expectBounded(statements, 0);
    });

    test('takes in a page of the feed by one statement, and by the recipients it names', async () => {
      const cursor = await readCursor(at.db, run.workspaceId);
      at.take();
      const events = Array.from({ length: LIMITS.longPageSizeMax }, (_, i) => sent(50_000 + i * 7));
      await applyEvents(at.db, run.workspaceId, cursor, 'a', events);
      const statements = at.take();
      expect(statements).toHaveLength(1);
      expectBounded(statements, FOUND_AND_WRITTEN * LIMITS.longPageSizeMax);
    });

    test('reads the counts without looking at any recipient', async () => {
      await readCounts(at.db, run.runId);
      expectBounded(at.take(), 0);
    });

    test('lists a page at the end of the run for what one at its beginning costs', async () => {
      const costs = [];
      for (const seq of [0, RECIPIENTS / 2, RECIPIENTS - 2_000]) {
        const after = { channel: 'sms' as const, seq };
        await listRecipients(at.db, run.runId, { after, limit: 1_000 });
        const statements = at.take();
        expectBounded(statements, 1_001);
        costs.push(
          Math.min(...(await times(() => listRecipients(plain, run.runId, { after, limit: 1_000 })))),
        );
      }
      const [begin = 0, , end = Number.NaN] = costs;
      expect(end).toBeLessThan(3 * begin);
    });

    test('lists recipients in a state without reading any beyond the page', async () => {
      const options = { state: 'pending', channel: 'sms', after: { channel: 'sms', seq: 60_000 } } as const;
      const { recipients } = await listRecipients(at.db, run.runId, { ...options, limit: 1_000 });
      expect(recipients).toHaveLength(1_000);
      // Those that the feed has told of stand in between.
      expectBounded(at.take(), 1_001 + LIMITS.longPageSizeMax);
    });

    test('reads no recipient for a state that none has', async () => {
      const { recipients } = await listRecipients(at.db, run.runId, { state: 'undelivered', limit: 1_000 });
      expect(recipients).toHaveLength(0);
      expectBounded(at.take(), 0);
    });

    test('puts those that failed back a window at a time', async () => {
      await sql`update recipients set state = 'failed' where run_id = ${run.runId} and seq < 50000`.execute(
        plain,
      );
      await sql`update runs set phase = 'running' where id = ${run.runId}`.execute(plain);
      at.take();
      await retryFailed(at.db, run.workspaceId, run.campaignId, { states: ['failed'] });
      expectBounded(at.take(), FOUND_AND_WRITTEN * LIMITS.retryFailedWindow);
    }, 150_000);

    test('opens a page of retries among 50,000 that wait', async () => {
      if (analyzed) await sql`analyze recipients`.execute(plain);
      await openPage(1);
      // The previous run’s rows were never vacuumed, so an index may hold rows that no longer exist.
      expectBounded(at.take(), 2 * PAGE);
    });

    test('cancels what waits and what is open, and reads no other recipient', async () => {
      await sql`
        update recipients set state = 'delivered', retry_at = null
        where run_id = ${run.runId} and state = 'waiting' and seq >= 3000`.execute(plain);
      at.take();
      await cancelUnsent(at.db, run.runId);
      expectBounded(at.take(), FOUND_AND_WRITTEN * (3_000 + PAGE));
    });

    function sent(seq: number): MessageEvent {
      const uid = messageUid({ runId: run.runId, channel: 'sms', seq }, 0);
      const about = { uid, id: `msg_${seq}`, channel: 'sms', type: 'sent', state: 'sent' } as const;
      return { seq: 1, at: new Date().toISOString(), ...about };
    }
  });
});

/** A recipient is found, locked and written: each looks it up. */
const FOUND_AND_WRITTEN = 4;

/** Checks that each statement finds its recipients by an index, and looks at so many at most. */
function expectBounded(statements: Explained[], rows: number): void {
  expect(statements.length).toBeGreaterThan(0);
  for (const { text, plan, generic } of statements) {
    const scanned = [...nodesOf(plan), ...nodesOf(generic)].some(
      (node) => node['Relation Name'] === 'recipients' && node['Node Type'] === 'Seq Scan',
    );
    expect({ text, scanned }).toEqual({ text, scanned: false });
    const read = rowsRead(plan, 'recipients');
    expect({ text, read: Math.max(read, rows) }).toEqual({ text, read: rows });
  }
}

async function times(work: () => Promise<unknown>): Promise<number[]> {
  const taken = [];
  for (let i = 0; i < 7; i++) {
    const begun = performance.now();
    await work();
    taken.push(performance.now() - begun);
  }
  return taken;
}
