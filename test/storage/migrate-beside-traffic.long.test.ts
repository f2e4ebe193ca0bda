/**
 * Proves that a database of the first version, with a million recipients, is brought up to date while that version goes on
 * writing: it waits for no lock longer than a migration may, no large table is written anew, and what was interrupted
 * goes on. The first version had the first migration alone; the second came later.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { Client } from 'pg';
import { LIMITS } from '../../src/domain/limits';
import { gradualUpdates, onlineIndexes } from '../../src/storage/migrate';
import { openStorage, type Storage } from '../../src/storage/storage';
import { openEarlier } from '../support/earlier-schema';
import { describeWithDatabase } from '../support/storage';

const RECIPIENTS = 1_000_000;
const MESSAGES = 200_000;
/** Of the messages; every tenth has ended badly, and every tenth recipient waits. */
const DUE = 20_000;
const PAGE = 200;
const WRITERS = 3;
const LIMIT_MS = 600_000;

const FILL = [
  `insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at, state, retry_at)
   select 'run', 'sms', n, n / 65536, 'contact_' || n, '+1202' || (2000000 + n), '{"NAME":"Ada"}', now(),
     case when n % 10 = 0 then 'waiting' else 'pending' end, case when n % 10 = 0 then now() end
   from generate_series(0, ${RECIPIENTS - 1}) n`,
  `insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, payload_hash, state,
     due_at, lane, accepted_seq)
   select 'msg_' || n, 'wsp', 'uid_' || n, 'sms', '+1202' || (2000000 + n), '12345', '{}', 'marketing', '', case
     when n < ${DUE} then 'accepted' when n % 10 = 0 then 'failed' else 'delivered' end,
     case when n < ${DUE} then now() end, 'lane', n
   from generate_series(0, ${MESSAGES - 1}) n`,
  'analyze recipients',
  'analyze messages',
];

/** What the first version says to its tables while it freezes, sends, waits, and accepts messages. */
const OLD_STATEMENTS: ((writer: number, turn: number) => [string, unknown[]])[] = [
  (writer, turn) => [
    `insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at)
     select $1, 'sms', n, 0, 'late_' || n, '+1303' || (2000000 + n), '{}', now() from generate_series($2::int, $3::int) n`,
    [`run_${writer}`, turn * PAGE, (turn + 1) * PAGE - 1],
  ],
  (writer, turn) => [
    `update recipients set state = 'accepted', updated_at = now()
     where run_id = 'run' and channel = 'sms' and seq >= $1 and seq < $2 and state = 'pending'`,
    [(turn * WRITERS + writer) * PAGE, (turn * WRITERS + writer + 1) * PAGE],
  ],
  (writer, turn) => [
    `update recipients set state = 'waiting', retry_at = now() + interval '1 hour', attempts = attempts + 1
     where run_id = 'run' and channel = 'sms' and seq >= $1 and seq < $2 and seq % 7 = 0`,
    [(turn * WRITERS + writer) * PAGE, (turn * WRITERS + writer + 1) * PAGE],
  ],
  (writer) => [
    `select seq from recipients where run_id = 'run' and channel = 'sms' and shard = $1 and state = 'waiting'
       and retry_at <= now() order by retry_at limit 100`,
    [writer],
  ],
  (writer, turn) => [
    `insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, class, payload_hash, state,
       due_at, lane, accepted_seq)
     select $1 || n, 'wsp', $1 || n, 'sms', '+13032000000', '12345', '{}', 'marketing', '', 'accepted', now(), 'lane', n
     from generate_series(1, 100) n`,
    [`late_${writer}_${turn}_`],
  ],
  (writer, turn) => [
    "update messages set state = 'failed', due_at = null where id in (select $1 || n from generate_series(1, 50) n)",
    [`late_${writer}_${turn}_`],
  ],
];

describeWithDatabase('migrations beside the first version', (database) => {
  let databaseUrl: string;
  let isOver = false;
  const statements: { took: number }[] = [];
  const failures: string[] = [];

  async function connect(name: string): Promise<Client> {
    const client = new Client({ connectionString: databaseUrl, application_name: name });
    await client.connect();
    return client;
  }

  async function write(writer: number): Promise<void> {
    const client = await connect('first version');
    for (let turn = 0; !isOver; turn++) {
      for (const statement of OLD_STATEMENTS) {
        const at = performance.now();
        await client.query(...statement(writer, turn)).catch(({ message }) => failures.push(message));
        statements.push({ took: performance.now() - at });
      }
    }
    await client.end();
  }

  /** The longest that a statement of the first version was seen to wait for a lock, in milliseconds. */
  async function longestWait(): Promise<number> {
    const client = await connect('watcher');
    let longest = 0;
    while (!isOver) {
      const { rows } = await client.query(
        `select coalesce(max(extract(epoch from clock_timestamp() - query_start)) * 1000, 0)::float8 as waited
         from pg_stat_activity where application_name = 'first version' and wait_event_type = 'Lock'`,
      );
      longest = Math.max(longest, rows[0].waited);
      await delay(10);
    }
    await client.end();
    return longest;
  }

  const filesOf = async (client: Client) =>
    (
      await client.query(
        "select relname, relfilenode from pg_class where relname in ('recipients', 'messages') order by relname",
      )
    ).rows;

  test(
    'keep it waiting for no longer than a migration may wait for a lock',
    async () => {
      ({ databaseUrl } = await database.place());
      await (await openEarlier({ databaseUrl }, '0002')).close();
      const admin = await connect('test');
      for (const statement of FILL) await admin.query(statement);
      const before = await filesOf(admin);

      const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer));
      const watching = longestWait();
      const started = Date.now();
      const walked: number[] = [];
      let storage: Storage = await openStorage({
        databaseUrl,
        onUpdate: ({ name, percent }) => {
          if (name === 'recipients.waits') walked.push(percent);
        },
      });
      const schemaMs = Date.now() - started;
      while (walked.length < 5) await delay(10);
      await storage.close();
      expect(walked.at(-1)).toBeLessThan(100);

      storage = await openStorage({ databaseUrl });
      await storage.indexes;
      const wholeMs = Date.now() - started;
      isOver = true;
      await Promise.all(writers);
      const waited = await watching;
      const slowest = Math.max(...statements.map(({ took }) => took));
      process.stdout.write(
        `${RECIPIENTS} recipients: schema after ${schemaMs} ms, whole after ${wholeMs} ms; ${statements.length} statements of the ` +
          `first version, longest wait for a lock ${Math.round(waited)} ms, slowest statement ${Math.round(slowest)} ms\n`,
      );

      expect(failures).toEqual([]);
      expect(statements.length).toBeGreaterThan(WRITERS * OLD_STATEMENTS.length);
      expect(waited).toBeLessThan(LIMITS.migrationLockMs);
      expect(await filesOf(admin)).toEqual(before);
      const wrong = await Promise.all(
        gradualUpdates().map(async ({ name, table, where }) => {
          const { rows } = await sql<{ left: number }>`
            select count(*)::int as left from ${sql.raw(table)} where ${sql.raw(where)}`.execute(
            storage.tables(),
          );
          return [name, rows[0]?.left];
        }),
      );
      expect(wrong).toEqual(gradualUpdates().map(({ name }) => [name, 0]));
      const { rows: marked } = await admin.query(
        `select count(*) filter (where waits is distinct from case when state = 'waiting' then true end)::int as wrong,
           count(*) filter (where waits)::int as waiting from recipients`,
      );
      expect(marked[0].wrong).toBe(0);
      expect(marked[0].waiting).toBeGreaterThan(RECIPIENTS / 10);
      const { rows: standing } = await admin.query(
        'select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid where i.indisvalid',
      );
      const names = [...onlineIndexes().matchAll(/^create index (\w+) on/gm)].map(([, name]) => name);
      expect(standing.map(({ name }) => name)).toEqual(expect.arrayContaining(names));
      await storage.close();
      await admin.end();
    },
    LIMIT_MS,
  );
});
