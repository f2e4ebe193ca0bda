/** Proves `fanfare audit verify` and `fanfare audit export`, over HTTP and as processes of their own. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { createAuditLog } from '../../src/audit/audit-log';
import type { AuditEntry } from '../../src/audit/entry';
import { cutChain } from '../../src/audit/retention';
import type { AuditTables } from '../../src/audit/tables';
import { writeCredentials } from '../../src/credentials/credentials';
import { createLog } from '../../src/log';
import { createSealing } from '../../src/messaging/access/sealing';
import type { NewWorkspace } from '../../src/messaging/access/workspaces';
import { openStorage, type Storage } from '../../src/storage/storage';
import { newWorkspace } from '../http/service';
import { AUDIT_SEALING_KEY, startWholeApi, type WholeApi } from '../http/whole-api';
import { runFanfare } from '../support/fanfare-command';
import { describeWithDatabase } from '../support/storage';

const TIMEOUT_MS = 300_000;

describeWithDatabase('fanfare audit', (database) => {
  let storage: Storage;
  let second: Storage;
  let db: Kysely<AuditTables>;
  let api: WholeApi;
  let owner: NewWorkspace;
  let dataDir: string;
  beforeEach(async () => {
    const { databaseUrl } = await database.place({ migrated: true });
    storage = await openStorage({ databaseUrl });
    second = await openStorage({ databaseUrl });
    db = storage.tables<AuditTables>();
    api = await startWholeApi(storage);
    owner = await newWorkspace(api.identity);
    dataDir = mkdtempSync(join(tmpdir(), 'fanfare-audit-'));
    await writeCredentials(dataDir, { ...owner, baseUrl: api.url });
  });
  afterEach(async () => {
    rmSync(dataDir, { recursive: true, force: true });
    await api.stop();
    await second.close();
    await storage.close();
  });

  const fanfare = (...args: string[]) => runFanfare(['audit', ...args], { FANFARE_DATA_DIR: dataDir }).ended;
  const append = async (count: number, at = storage) => {
    const log = createAuditLog({ db: at.tables<AuditTables>(), log: createLog('silent') });
    for (let i = 0; i < count; i += 1) {
      await log.record({
        ...{
          workspaceId: owner.workspace.id,
          actor: { kind: 'user', id: owner.user.id },
          address: '192.0.2.1',
        },
        ...{ requestId: `r${i}`, action: 'campaign.start', object: { kind: 'campaign', id: 'cmp_1' } },
        ...{ result: 'ok', detail: {} },
      });
    }
  };
  /** More than a page of the API, in the order in which they were written. */
  const ids = async () =>
    (await db.selectFrom('audit_entries').select('id').orderBy('seq').execute()).map(({ id }) => id);

  test(
    'an export has each entry once and in order, and is verified without the instance',
    async () => {
      await append(250);
      const { out, code } = await fanfare('export');
      expect(code).toBe(0);
      const entries = out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as AuditEntry);
      // The command's own log-in is in the chain, and its log-out came after it had read.
      expect((await ids()).slice(0, entries.length)).toEqual(entries.map(({ id }) => id));
      expect(entries.length).toBeGreaterThan(250);

      const file = join(dataDir, 'audit.ndjson');
      writeFileSync(file, out);
      const whole = await fanfare('verify', file, '--json');
      expect(whole.code).toBe(0);
      expect(JSON.parse(whole.out)).toEqual({
        ok: true,
        entries: entries.length,
        last: entries.at(-1)?.hash,
      });

      writeFileSync(file, out.replace('"requestId":"r100"', '"requestId":"r999"'));
      const changed = await fanfare('verify', file);
      const id = entries.find(({ requestId }) => requestId === 'r100')?.id;
      expect([changed.code, changed.out]).toEqual([1, expect.stringContaining(`Entry ${id} was changed`)]);
    },
    TIMEOUT_MS,
  );

  test(
    'the instance is verified while two processes write, and nothing they write is a fault',
    async () => {
      let writing = true;
      const writers = [storage, second].map(async (at) => {
        while (writing) await append(5, at);
      });
      try {
        await append(200);
        for (let times = 0; times < 2; times += 1) {
          const { out, err, code } = await fanfare('verify', '--json');
          expect([code, err]).toEqual([0, '']);
          expect(JSON.parse(out)).toMatchObject({ ok: true });
          expect(JSON.parse(out).entries).toBeGreaterThan(200);
        }
      } finally {
        writing = false;
        await Promise.all(writers);
      }
      const noted = await fanfare('verify', '--json');
      expect(JSON.parse(noted.out).entries).toBeGreaterThan(400);
    },
    TIMEOUT_MS,
  );

  test(
    'a cut by retention is no fault, a beginning that someone else deleted is one',
    async () => {
      await append(20);
      const before = await fanfare('verify', '--json');
      const noted = JSON.parse(before.out).last;
      const cut = await cutChain(db, createSealing([AUDIT_SEALING_KEY]), {
        ...{ workspaceId: owner.workspace.id, beforeMs: Date.now() + 1, now: Date.now },
      });
      expect(cut).toBeGreaterThan(20);
      await append(5);
      expect((await fanfare('verify')).code).toBe(0);
      const [told] = await db
        .selectFrom('audit_entries')
        .select(['actor_kind', 'actor_id', 'action'])
        .orderBy('seq')
        .limit(1)
        .execute();
      expect(told).toEqual({ actor_kind: 'system', actor_id: null, action: 'audit.cut' });

      const missing = await fanfare('verify', '--contains', noted);
      expect([missing.code, missing.out]).toEqual([1, expect.stringContaining(noted)]);

      await sql`delete from audit_entries where seq <= (select min(seq) + 1 from audit_entries)`.execute(db);
      const [oldest] = await ids();
      const deleted = await fanfare('verify');
      expect([deleted.code, deleted.out]).toEqual([
        1,
        `Entries before ${oldest} are missing, and no cut by retention removed them.\n`,
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    'an entry that was changed in the database is named, and the command ends with 1',
    async () => {
      await append(3);
      const [, , third] = await ids();
      await sql`update audit_entries set address = '192.0.2.2' where id = ${third}`.execute(db);
      const { out, code } = await fanfare('verify', '--json');
      expect([code, JSON.parse(out)]).toEqual([
        1,
        expect.objectContaining({ ok: false, fault: expect.objectContaining({ id: third }) }),
      ]);
    },
    TIMEOUT_MS,
  );
});
