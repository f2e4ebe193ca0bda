import { createHash } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { createAuditLog, createAuditReader } from '../../src/audit/audit-log';
import { canonicalJson } from '../../src/audit/canonical-json';
import { type AuditEntry, type AuditEvent, hashOf } from '../../src/audit/entry';
import { cutChain, keepAuditRetention, sealStartsAnew } from '../../src/audit/retention';
import type { AuditTables } from '../../src/audit/tables';
import { verifyChain } from '../../src/audit/verify-chain';
import { createLog } from '../../src/log';
import { createSealing } from '../../src/messaging/access/sealing';
import { openStorage, type Storage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';

const WORKSPACE = 'ws_1';
const event = (changes: Partial<AuditEvent> = {}): AuditEvent => ({
  workspaceId: WORKSPACE,
  actor: { kind: 'user', id: 'usr_1' },
  address: '192.0.2.1',
  requestId: 'r1',
  action: 'campaign.start',
  object: { kind: 'campaign', id: 'cmp_1' },
  result: 'ok',
  detail: { b: [1, 'é'], a: null },
  ...changes,
});
const sealing = createSealing([Buffer.alloc(32, 7)]);

describeWithDatabase('the chain of audit entries', (database) => {
  let storage: Storage;
  let db: Kysely<AuditTables>;
  beforeEach(async () => {
    storage = await database.open();
    db = storage.tables<AuditTables>();
  });

  const log = () => createAuditLog({ db, log: createLog('silent') });
  async function* entries(): AsyncGenerator<AuditEntry> {
    const query = { limit: 1_000, order: 'oldest' } as const;
    yield* (await createAuditReader(db, sealing).entries(WORKSPACE, query)).entries;
  }
  async function all(): Promise<AuditEntry[]> {
    const read: AuditEntry[] = [];
    for await (const entry of entries()) read.push(entry);
    return read;
  }
  const append = async (count: number) => {
    for (let i = 0; i < count; i++) await log().record(event({ requestId: `r${i}` }));
  };

  test('each entry is hashed over its canonical JSON and has the hash of the one before', async () => {
    await append(3);
    const [first, second, third] = (await all()) as [AuditEntry, AuditEntry, AuditEntry];
    expect([first.prev, second.prev, third.prev]).toEqual([null, first.hash, second.hash]);
    const said =
      `{"action":"campaign.start","actor":{"id":"usr_1","kind":"user"},"address":"192.0.2.1","at":"${first.at}",` +
      `"detail":{"a":null,"b":[1,"é"]},"id":"${first.id}","object":{"id":"cmp_1","kind":"campaign"},"prev":null,` +
      '"requestId":"r0","result":"ok"}';
    expect(first.hash).toBe(createHash('sha256').update(said).digest('hex'));
    expect(await verifyChain(entries(), { start: null })).toEqual({ entries: 3, last: third.hash });
  });

  test('writers of two processes append to one chain, and a workspace does not wait for another', async () => {
    const { databaseUrl } = await database.place({ migrated: true });
    const processes = await Promise.all([openStorage({ databaseUrl }), openStorage({ databaseUrl })]);
    try {
      const logs = processes.map((each) =>
        createAuditLog({ db: each.tables<AuditTables>(), log: createLog('silent') }),
      );
      await Promise.all(logs.flatMap((each) => Array.from({ length: 30 }, () => each.record(event()))));
      db = (processes[0] as Storage).tables<AuditTables>();
      expect(await verifyChain(entries(), { start: null })).toMatchObject({ entries: 60 });

      await db.transaction().execute(async (tx) => {
        await (logs[0] as (typeof logs)[0]).appendIn(tx, event());
        // The first workspace's chain is locked until this transaction ends.
        await (logs[1] as (typeof logs)[0]).record(event({ workspaceId: 'ws_2' }));
      });
    } finally {
      await Promise.all(processes.map((each) => each.close()));
    }
  });

  test.each([
    ['content', sql`update audit_entries set object_id = 'cmp_2' where seq = 3`, 3],
    ['time', sql`update audit_entries set at = at + interval '1 millisecond' where seq = 3`, 3],
    ['detail', sql`update audit_entries set detail = '{}' where seq = 3`, 3],
    ['removed in the middle', sql`delete from audit_entries where seq = 3`, 2],
  ])('verifying names the entry that was changed: %s', async (_, tampering, named) => {
    await append(5);
    const ids = (await all()).map(({ id }) => id);
    await tampering.execute(db);
    const { fault } = await verifyChain(entries(), { start: null });
    expect(fault?.id).toBe(ids[named - 1]);
  });

  test('an entry that was rewritten with a hash that fits is named by the one after it', async () => {
    await append(4);
    const second = (await all())[1] as AuditEntry;
    const hash = hashOf({ ...second, object: { kind: 'campaign', id: 'cmp_9' } });
    await sql`update audit_entries set object_id = 'cmp_9', hash = ${hash} where id = ${second.id}`.execute(
      db,
    );
    expect((await verifyChain(entries(), { start: null })).fault?.id).toBe(second.id);
  });

  test('entries that are missing at either end are found by what the chain knows', async () => {
    await append(4);
    const { last } = await createAuditReader(db, sealing).chain(WORKSPACE);
    await sql`delete from audit_entries where seq = 4`.execute(db);
    expect(
      (await verifyChain(entries(), { start: null, contains: [last as string] })).fault?.problem,
    ).toMatch(/is missing/);
    await sql`delete from audit_entries where seq = 1`.execute(db);
    const second = (await all())[0] as AuditEntry;
    expect((await verifyChain(entries(), { start: null })).fault?.id).toBe(second.id);
    expect((await verifyChain(entries())).fault?.id).toBe(second.id);
  });

  test('a cut by retention is known from a beginning that was deleted, in an export too', async () => {
    let nowMs = Date.parse('2026-01-01T00:00:00Z');
    const past = createAuditLog({ db, log: createLog('silent'), now: () => nowMs });
    for (let day = 0; day < 6; day++) {
      await past.record(event());
      nowMs += 86_400_000;
    }
    const before = await all();
    const cut = (days: number) =>
      cutChain(db, sealing, {
        workspaceId: WORKSPACE,
        beforeMs: nowMs - days * 86_400_000,
        now: () => nowMs,
      });
    expect([await cut(5), await cut(5), await cut(3)]).toEqual([1, 0, 2]);

    const reader = createAuditReader(db, sealing);
    const { start, written } = await reader.chain(WORKSPACE);
    expect([start?.entries, start?.prev, written]).toEqual([3, before[2]?.hash, 8]);
    expect((await all()).slice(-2).map(({ action, actor }) => [action, actor.kind])).toEqual([
      ['audit.cut', 'system'],
      ['audit.cut', 'system'],
    ]);
    expect(await verifyChain(entries(), { start: start?.prev })).toMatchObject({ entries: 5 });
    expect((await verifyChain(entries())).fault).toBeUndefined();

    await sql`delete from audit_entries where seq = 4`.execute(db);
    expect((await verifyChain(entries(), { start: start?.prev })).fault?.id).toBe(before[4]?.id);
    expect((await verifyChain(entries())).fault?.id).toBe(before[4]?.id);
    // Only the installation's key seals another beginning.
    await sql`update audit_chains set sealed_start = 'x' || sealed_start`.execute(db);
    await expect(reader.chain(WORKSPACE)).rejects.toThrow(/was changed after it was sealed/);
  });

  test('a log whose beginning was changed from outside keeps no other log from being cut', async () => {
    let nowMs = Date.parse('2026-01-01T00:00:00Z');
    const past = createAuditLog({ db, log: createLog('silent'), now: () => nowMs });
    const workspaces = ['ws_1', 'ws_2', 'ws_3'];
    for (const workspaceId of workspaces) await past.record(event({ workspaceId }));
    await sql`update audit_chains set sealed_start = 'x', key_id = ${sealing.keyId}
      where workspace_id = 'ws_1'`.execute(db);
    nowMs += 10 * 86_400_000;
    const retention = keepAuditRetention({
      ...{ db, sealing, days: 2, log: createLog('silent'), now: () => nowMs },
    });
    await retention.sweep();
    retention.stop();
    const left = await sql<{ workspace_id: string; action: string }>`
      select workspace_id, action from audit_entries order by workspace_id`.execute(db);
    expect(left.rows).toEqual([
      { workspace_id: 'ws_1', action: 'campaign.start' },
      { workspace_id: 'ws_2', action: 'audit.cut' },
      { workspace_id: 'ws_3', action: 'audit.cut' },
    ]);
  });

  test('beginnings are sealed with a new key also beside one that cannot be opened', async () => {
    const workspaces = ['ws_1', 'ws_2', 'ws_3'];
    for (const workspaceId of workspaces) {
      await log().record(event({ workspaceId }));
      const now = () => Date.now() + 86_400_000;
      await cutChain(db, sealing, { workspaceId, beforeMs: now(), now });
    }
    await sql`update audit_chains set sealed_start = 'x' where workspace_id = 'ws_1'`.execute(db);
    // Those that were written last are read last.
    await sql`update audit_chains set last_seq = last_seq where workspace_id <> 'ws_1'`.execute(db);
    const [newest, older] = [Buffer.alloc(32, 8), Buffer.alloc(32, 7)];
    await expect(sealStartsAnew(db, createSealing([newest, older]))).rejects.toThrow('ws_1');
    const reader = createAuditReader(db, createSealing([newest]));
    for (const workspaceId of ['ws_2', 'ws_3']) {
      expect((await reader.chain(workspaceId)).start?.entries).toBe(1);
    }
  });

  test('what a caller repeats is written once, and once a minute with its count', async () => {
    const audit = createAuditLog({ db, log: createLog('silent') });
    for (let i = 0; i < 5; i++)
      await audit.recordRepeated(event({ result: 'refused', detail: { status: 403 } }));
    await audit.recordRepeated(
      event({ result: 'refused', action: 'policy.change', detail: { status: 403 } }),
    );
    const counts = async () => (await all()).map(({ action, detail }) => [action, detail.count]);
    expect(await counts()).toEqual([
      ['campaign.start', 1],
      ['policy.change', 1],
    ]);
    await audit.stop();
    expect(await counts()).toEqual([
      ['campaign.start', 1],
      ['policy.change', 1],
      ['campaign.start', 4],
    ]);
  });
});

test('canonical JSON sorts names by UTF-16 units and writes numbers and text as ECMAScript does', () => {
  const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude02': 5, '\u0080': 6, '\u00f6': 7 };
  expect(canonicalJson(value)).toBe(
    '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude02":5,"\ufb33":3}',
  );
  expect(canonicalJson([1e30, 4.5, 2e-3, 1e-27, '\u0000\n"\\', true, null])).toBe(
    '[1e+30,4.5,0.002,1e-27,"\\u0000\\n\\"\\\\",true,null]',
  );
});
