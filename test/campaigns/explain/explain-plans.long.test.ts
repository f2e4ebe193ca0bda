import { type Kysely, sql } from 'kysely';
import { createExplanations } from '../../../src/campaigns/explain/explain';
import { listSkipped } from '../../../src/campaigns/explain/skipped';
import type { MessageStories } from '../../../src/campaigns/model/dependencies';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { recipientId } from '../../../src/domain/ids';
import { messageStories } from '../../../src/messaging/events/stories';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { openStorage, type Storage } from '../../../src/storage/storage';
import { plantRun } from '../../support/audience';
import { type ExplainingDatabase, nodesOf, openExplaining, rowsRead } from '../../support/explained';
import { describeWithDatabase } from '../../support/storage';

const RECIPIENTS = 1_000_000;
const SHARD = 10_000;
/** Its recipients come at a later hour. */
const LATER_SHARD = 40;
const SKIPPED = 300_000;
const ASKED = 300;
/** Of which the best counts: another process may have had the machine. */
const ROUNDS = 3;
const P99_MS = 50;
/** Suites beside this one share its cores; one table that is read whole costs more than this. */
const SHARED_TIMES = 5;

/**
 * A person who asks reads a few rows, whatever the size of the run: also before the tables were analyzed, when the
 * planner knows nothing of them. What is found by an address or a contact is found by an index.
 */
describeWithDatabase('explanations beside a million recipients', (database) => {
  let storage: Storage;
  let plain: Kysely<CampaignTables>;
  let at: ExplainingDatabase;
  let run: Awaited<ReturnType<typeof plantRun>>;
  const stories: MessageStories = {
    read: async (workspaceId, { uids }) => ({
      ...({ kind: 'told', events: true, held: false } as const),
      stories: await messageStories(storage.tables<MessagingTables>(), workspaceId, uids, () => undefined),
    }),
  };

  beforeAll(async () => {
    const place = await database.place();
    storage = await openStorage(place);
    plain = storage.tables<CampaignTables>();
    at = await openExplaining(place);
    run = await plantRun(plain, { contacts: 0 });
    const { runId, workspaceId } = run;
    await sql`
      insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at, state)
      select ${runId}, 'sms', i, i / 10000, 'con_' || i, '+1' || (2020000000 + i), '{}', now(),
        case when i % 2 = 0 then 'sent' else 'pending' end
      from generate_series(0, ${RECIPIENTS - 1}) i`.execute(plain);
    await sql`
      insert into shards (run_id, channel, shard, from_seq, to_seq, next_seq)
      select ${runId}, 'sms', s, s * 10000, (s + 1) * 10000, (s + 1) * 10000
      from generate_series(0, ${RECIPIENTS / 10_000 - 1}) s`.execute(plain);
    await sql`
      insert into skipped_contacts (run_id, channel, contact_id, reason, address, evidence)
      select ${runId}, 'sms', 'out_' || i, case when i % 100000 = 7 then 'missing_params' else 'duplicate_address' end,
        '+1' || (2020000000 + i), case when i % 100000 = 7 then '{"missing":["NAME"]}'::jsonb end
      from generate_series(0, ${SKIPPED - 1}) i`.execute(plain);
    await sql`
      insert into contacts (id, workspace_id, identity, external_id, phone)
      select 'con_' || i, ${workspaceId}, 'x:' || i, i::text, '+1' || (2020000000 + i)
      from generate_series(0, ${RECIPIENTS - 1}, 10) i`.execute(plain);
    await sql`update runs set phase = 'running' where id = ${runId}`.execute(plain);
  }, 600_000);
  afterAll(async () => {
    await at?.close();
    await storage?.close();
  });

  const phone = (i: number) => `+1${2_020_000_000 + i}`;
  const asked = (by: 'to' | 'contact', i: number) => ({
    ...{ workspaceId: run.workspaceId, campaignId: run.campaignId },
    ...(by === 'to' ? { to: phone(i) } : { contact: `con_${i}` }),
  });

  function expectIndexed(rows: number): void {
    for (const { text, plan, generic } of at.take()) {
      // Their rows are those of an index alone, of which the node that reads the table says nothing.
      const bitmaps = [...nodesOf(plan)].filter((node) => node['Node Type'] === 'Bitmap Index Scan');
      const listed = Math.max(
        0,
        ...bitmaps.map((node) => (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 1)),
      );
      expect({ text, listed: Math.max(listed, rows) }).toEqual({ text, listed: rows });
      for (const table of ['recipients', 'skipped_contacts', 'contacts']) {
        const scanned = [...nodesOf(plan), ...nodesOf(generic)].some(
          (node) => node['Relation Name'] === table && node['Node Type'] === 'Seq Scan',
        );
        expect({ text, table, scanned }).toEqual({ text, table, scanned: false });
        const read = rowsRead(plan, table);
        expect({ text, table, read: Math.max(read, rows) }).toEqual({ text, table, read: rows });
      }
    }
  }

  describe.each([
    ['as they were written', false],
    ['analyzed', true],
  ])('in tables %s', (_title, isAnalyzed) => {
    beforeAll(async () => {
      if (isAnalyzed) await sql`analyze recipients, skipped_contacts, contacts, shards, runs`.execute(plain);
      at.take();
    }, 150_000);

    test.each(['to', 'contact'] as const)('find a person by %s without reading others', async (by) => {
      const explanations = createExplanations({ db: at.db, stories });
      const { recipient } = await explanations.person(asked(by, 654_320));
      expect(recipient?.address).toBe(phone(654_320));
      expectIndexed(4);
    });

    test('find a contact that was left out by the address that was judged', async () => {
      const explanations = createExplanations({ db: at.db, stories });
      const found = await explanations.person({ ...asked('contact', 0), contact: 'out_100007' });
      expect(found.skipped).toMatchObject({ reason: 'missing_params' });
      expect(found.skipped?.evidence).toContain('NAME');
      expectIndexed(4);
    });

    test('list a rare reason among many without reading the others, and a late page as an early one', async () => {
      const ref = { workspaceId: run.workspaceId, runId: run.runId };
      const rare = await listSkipped(at.db, ref, { reason: 'missing_params', limit: 100 });
      expect(rare.skipped).toHaveLength(3);
      expectIndexed(202);
      const after = { channel: 'sms', reason: 'duplicate_address', contactId: 'out_299' } as const;
      const page = await listSkipped(at.db, ref, { after, limit: 100 });
      expect(page.skipped[0]?.evidence).toContain('con_');
      expect(page.skipped).toHaveLength(100);
      expectIndexed(202);
    });

    test('tell the pace of the last one of a shard at a later hour, and read no other shard for it', async () => {
      const { runId, workspaceId, campaignId } = run;
      const ofShard = sql`run_id = ${runId} and channel = 'sms' and shard = ${LATER_SHARD}`;
      await sql`
        update recipients set state = 'pending', due_at = now() + interval '2 hours' where ${ofShard}`.execute(
        plain,
      );
      await sql`update shards set next_seq = from_seq where ${ofShard}`.execute(plain);
      await sql`
        insert into run_paces (run_id, rate, next_at) values (${runId}, 10, now())
        on conflict (run_id) do update set next_at = now()`.execute(plain);
      const last = recipientId({ runId, channel: 'sms', seq: (LATER_SHARD + 1) * SHARD - 1 });
      const seen = createExplanations({ db: at.db, stories });
      const { next } = await seen.recipient(workspaceId, campaignId, last);
      // Two hours, and 9,999 others at ten a second.
      const waitMs = Number(next?.at) - Date.now();
      expect([next?.why, Math.round(waitMs / 60_000)]).toEqual(['schedule', 137]);
      expectIndexed(SHARD);
      const explanations = createExplanations({ db: plain, stories });
      const taken: number[] = [];
      for (let i = 0; i < ASKED; i++) {
        const begun = performance.now();
        await explanations.recipient(workspaceId, campaignId, last);
        taken.push(performance.now() - begun);
      }
      taken.sort((one, other) => one - other);
      const [half, most] = [0.5, 0.99].map((share) => taken[Math.floor(ASKED * share) - 1] ?? Number.NaN);
      process.stdout.write(`behind a whole shard: ${half?.toFixed(1)} ms, p99 ${most?.toFixed(1)} ms\n`);
      expect(most).toBeLessThan(P99_MS * SHARED_TIMES);
    });

    test(`answer 99 of 100 times within ${P99_MS} ms on a machine of their own`, async () => {
      const explanations = createExplanations({ db: plain, stories });
      const rounds: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const taken: number[] = [];
        for (let i = 0; i < ASKED; i++) {
          const begun = performance.now();
          await explanations.person(
            asked(i % 2 === 0 ? 'to' : 'contact', ((round * ASKED + i) * 333_111) % RECIPIENTS),
          );
          taken.push(performance.now() - begun);
        }
        taken.sort((one, other) => one - other);
        rounds.push(taken[Math.floor(ASKED * 0.99) - 1] ?? Number.NaN);
      }
      process.stdout.write(
        `explanations: p99 of each round ${rounds.map((ms) => ms.toFixed(1)).join(', ')} ms\n`,
      );
      expect(Math.min(...rounds)).toBeLessThan(P99_MS * SHARED_TIMES);
    });
  });
});
