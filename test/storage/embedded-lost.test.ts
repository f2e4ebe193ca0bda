import { runInThisContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { sql } from 'kysely';
import { isUnavailable } from '../../src/messaging/database-error';
import type { StartupError } from '../../src/startup-error';
import { isBeyondRepair } from '../../src/storage/engine-failure';
import { openStorage } from '../../src/storage/storage';
import { describeOnEmbedded } from '../support/storage';

describeOnEmbedded('the embedded engine', (engine) => {
  afterEach(() => jest.restoreAllMocks());

  test('says once that its thread has ended, and is away for everybody who asks', async () => {
    const threads = new Set<Worker>();
    const { postMessage } = Worker.prototype;
    jest.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, ...args) {
      threads.add(this);
      return postMessage.apply(this, args);
    });
    const lost: StartupError[] = [];
    const place = await engine.place({ migrated: true });
    const storage = await openStorage({ ...place, onLost: (error) => lost.push(error) });
    const underWay = sql`select pg_sleep(30)`.execute(storage.tables()).then(
      () => undefined,
      (error: unknown) => error,
    );
    await Promise.all([...threads].map((thread) => thread.terminate()));
    expect(isUnavailable(await underWay)).toBe(true);
    await expect(sql`select 1`.execute(storage.tables())).rejects.toMatchObject({ code: '57P02' });
    expect(lost).toHaveLength(1);
    expect(lost[0]?.message).toContain('The embedded database has stopped');
    expect(lost[0]?.wayOut).toContain('start it again');
    await storage.close();
    const again = await openStorage(place);
    expect((await sql`select 1 as one`.execute(again.tables())).rows).toEqual([{ one: 1 }]);
    await again.close();
  });

  test('says nothing of the kind when it is closed, or a statement fails', async () => {
    const lost: StartupError[] = [];
    const place = await engine.place({ migrated: true });
    const storage = await openStorage({ ...place, onLost: (error) => lost.push(error) });
    await expect(sql`select 1 / 0`.execute(storage.tables())).rejects.toMatchObject({ code: '22012' });
    expect((await sql`select 1 as one`.execute(storage.tables())).rows).toEqual([{ one: 1 }]);
    await storage.close();
    expect(lost).toEqual([]);
  });
});

test('an engine that has trapped is beyond repair, and one that refuses a statement is not', () => {
  // A module of one function that traps.
  const bytes = [0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 8, 1, 0, 10, 5, 1, 3, 0, 0, 11];
  const instance = `new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(${JSON.stringify(bytes)})))`;
  let trap: unknown;
  try {
    runInThisContext(instance);
  } catch (error) {
    trap = error;
  }
  expect(String(trap)).toContain('unreachable');
  expect(isBeyondRepair(trap)).toBe(true);
  expect(isBeyondRepair(Object.assign(new Error('disk full'), { code: '53100' }))).toBe(false);
});
