import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely, KyselyPlugin } from 'kysely';
import type { MessagingTables } from '../../../../src/messaging/model/tables';
import { createHolds, type Holds } from '../../../../src/messaging/outbox/queue/holds';
import { newId } from '../../../../src/storage/new-id';
import type { Storage } from '../../../../src/storage/storage';
import { describeWithDatabase } from '../../../support/storage';
import { until } from '../../../support/until';

describeWithDatabase("a process's copy of the holds", (database) => {
  let storage: Storage;
  let workspaceId: string;
  const going: Holds[] = [];
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(() => {
    workspaceId = newId('ws');
  });
  afterEach(() => {
    for (const holds of going.splice(0)) holds.stop();
  });

  const start = async (plugin?: KyselyPlugin, onReleased: () => void = () => undefined): Promise<Holds> => {
    const db: Kysely<MessagingTables> = storage.tables<MessagingTables>();
    const holds = createHolds({ db: plugin ? db.withPlugin(plugin) : db, onReleased });
    await holds.start();
    going.push(holds);
    return holds;
  };
  const isHeld = (holds: Holds, campaign: string) => holds.isHeld({ workspaceId, campaign });

  test('follows what another process holds and releases', async () => {
    const other = await start();
    let released = 0;
    const one = await start(undefined, () => {
      released += 1;
    });
    await one.hold(workspaceId, 'own');
    await other.hold(workspaceId, 'theirs');
    await until('the hold is learned', () => isHeld(one, 'theirs'), 2_000);
    expect(isHeld(one, 'own')).toBe(true);
    await other.release(workspaceId, 'theirs');
    await until('the release is learned', () => !isHeld(one, 'theirs'), 2_000);
    expect(isHeld(one, 'own')).toBe(true);
    expect(released).toBe(1);
  });

  test('is read again only when holds have changed', async () => {
    const readings = new Readings();
    const one = await start(readings);
    await one.hold(workspaceId, 'a');
    await until('its own hold was read', () => readings.full > 0 && readings.last === 'unchanged', 3_000);
    const { full, all } = readings;
    const other = await start();
    await delay(1_500);
    expect(readings.all).toBeGreaterThanOrEqual(all + 2);
    expect(readings.full).toBe(full);
    // Neither changes anything.
    await other.hold(workspaceId, 'a');
    await other.release(workspaceId, 'never held');
    await delay(1_000);
    expect(readings.full).toBe(full);
    await other.release(workspaceId, 'a');
    await until('the release is learned', () => !isHeld(one, 'a'), 2_000);
    expect(readings.full).toBe(full + 1);
  });

  test('drops a hold that a group reports after its release, also when nothing changes any more', async () => {
    const readings = new Readings();
    const one = await start(readings);
    await one.hold(workspaceId, 'kept');
    await until('nothing is new', () => readings.last === 'unchanged', 3_000);
    // While a reading is under way that will find nothing changed.
    readings.onReading = () => one.learn([{ workspaceId, campaign: 'released' }]);
    await until('the report came', () => isHeld(one, 'released'), 2_000);
    await until('the hold is dropped', () => !isHeld(one, 'released'), 2_000);
    expect(isHeld(one, 'kept')).toBe(true);
  });
});

/** Counts looks at the holds, and those of them that read the table. */
class Readings implements KyselyPlugin {
  all = 0;
  full = 0;
  last: 'read' | 'unchanged' | undefined;
  /** Called once, with a look under way. */
  onReading: (() => void) | undefined;

  readonly transformQuery: KyselyPlugin['transformQuery'] = ({ node }) => node;

  readonly transformResult: KyselyPlugin['transformResult'] = async ({ result }) => {
    const [row] = result.rows;
    if (row && 'changes' in row && 'held' in row) {
      this.all += 1;
      if (row.held !== null) this.full += 1;
      this.last = row.held === null ? 'unchanged' : 'read';
      if (row.held === null) this.onReading?.();
      if (row.held === null) this.onReading = undefined;
    }
    return result;
  };
}
