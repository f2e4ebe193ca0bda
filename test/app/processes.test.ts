/** Proves that an owner sees which processes share the installation, and which of them no longer live. */

import { hostname } from 'node:os';
import { type Kysely, sql } from 'kysely';
import {
  installationReader,
  type ProcessTables,
  type RecordedProcess,
  recordProcess,
} from '../../src/app/processes';
import { messageUid, parseMessageUid } from '../../src/domain/ids';
import { VERSION } from '../../src/domain/version';
import { createLog } from '../../src/log';
import { newId } from '../../src/storage/new-id';
import type { Storage } from '../../src/storage/storage';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('the processes of an installation', (database) => {
  const log = createLog('silent');
  let storage: Storage;
  let db: Kysely<ProcessTables>;
  let serving: RecordedProcess;
  let sending: RecordedProcess;

  beforeEach(async () => {
    storage = await database.open();
    db = storage.tables();
    serving = await recordProcess({ db, roles: ['http', 'orchestrator'], buildId: undefined, log });
    sending = await recordProcess({ db, roles: ['sender'], buildId: 'v1.4.0', log });
  });
  afterEach(async () => {
    await serving.stop();
    await sending.stop();
  });

  const read = (version: () => Promise<string> = async () => '1.29.1') =>
    installationReader({
      ...{ db, processId: serving.id, isManaged: true },
      temporal: { address: '127.0.0.1:7233', namespace: 'default', uiUrl: undefined, version },
    })();
  const lastSeen = (id: string, ago: string) =>
    sql`update processes set seen_at = now() - ${ago}::interval where id = ${id}`.execute(db);

  test('each is listed with its roles and version, and the one that answers is marked', async () => {
    const { processes } = await read();
    const shared = { host: hostname(), pid: process.pid, version: VERSION, state: 'lives' };
    expect(processes).toHaveLength(2);
    expect(processes).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          ...{ ...shared, id: serving.id, roles: ['http', 'orchestrator'], buildId: null, answers: true },
        }),
        expect.objectContaining({
          ...{ ...shared, id: sending.id, roles: ['sender'], buildId: 'v1.4.0', answers: false },
        }),
      ]),
    );
    for (const one of processes)
      expect(Date.parse(one.startedAt)).toBeLessThanOrEqual(Date.parse(one.lastSeenAt));
  });

  test('beside one of a build from before decision 56, runs and sends have ids that it knows', async () => {
    const uidThatItReads = /^(run_[0-9a-z]{26})\.(email|sms|voice)\.(\d{1,9})\.(\d{1,4})$/;
    const lookAgain = async () => {
      const another = await recordProcess({ db, roles: ['http'], buildId: undefined, log });
      await another.stop();
      return messageUid({ runId: newId('run'), channel: 'sms', seq: 7 }, 0);
    };
    expect(await lookAgain()).not.toMatch(uidThatItReads);
    await sql`
      insert into processes (id, host, pid, roles, version, newest_migration, started_at, seen_at)
      values ('proc_former', 'h', 1, '{orchestrator}', '1', '0119-due-groups', now(), now())`.execute(db);
    const uid = await lookAgain();
    expect(uid).toMatch(uidThatItReads);
    expect(parseMessageUid(uid)).toMatchObject({ seq: 7, attempt: 0 });
    expect(newId('snd')).toMatch(/^snd_[0-9a-z]{26}$/);
    expect(newId('msg')).toMatch(/^msg_[0-9a-z]{19}$/);
    await lastSeen('proc_former', '2 minutes');
    expect(await lookAgain()).not.toMatch(uidThatItReads);
    expect(newId('snd')).toMatch(/^snd_[0-9a-z]{19}$/);
  });

  test('one that has shown no sign of life for a minute is listed last, as silent', async () => {
    await lastSeen(serving.id, '61 seconds');
    expect((await read()).processes.map(({ id, state }) => [id, state])).toEqual([
      [sending.id, 'lives'],
      [serving.id, 'silent'],
    ]);
  });

  test('one that ends leaves the list at once', async () => {
    await sending.stop();
    expect((await read()).processes.map(({ id }) => id)).toEqual([serving.id]);
  });

  test('one that was killed is deleted by the others after an hour', async () => {
    await lastSeen(sending.id, '61 minutes');
    const next = await recordProcess({ db, roles: ['voice'], buildId: undefined, log });
    expect((await read()).processes.map(({ id }) => id).sort()).toEqual([serving.id, next.id].sort());
    await next.stop();
  });

  test('the database, Temporal and their versions are named', async () => {
    const { database: of, temporal, version } = await read();
    expect(of).toEqual({
      ...{ version: expect.stringMatching(/^\d+\./), schema: expect.stringMatching(/^\d{4}-/) },
      isManaged: true,
    });
    expect(temporal).toEqual({
      ...{ address: '127.0.0.1:7233', namespace: 'default', version: '1.29.1', uiUrl: null },
    });
    expect(version).toBe(VERSION);
  });

  test('it is told while Temporal does not answer, whose version is then unknown', async () => {
    const { processes, temporal } = await read(() => Promise.reject(new Error('unavailable')));
    expect([processes.length, temporal.version]).toEqual([2, null]);
  });
});
