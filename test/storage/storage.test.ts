import { sql } from 'kysely';
import type { Storage } from '../../src/storage/storage';
import { describeEachEngine } from '../support/storage';

interface Tables {
  probes: { id: string };
}

describeEachEngine('storage', (engine) => {
  let storage: Storage;
  beforeAll(async () => {
    storage = await engine.open();
  });

  test('a statement answers', async () => {
    const { rows } = await sql<{ two: number }>`select 1 + 1 as two`.execute(storage.tables<Tables>());
    expect(rows).toEqual([{ two: 2 }]);
  });
});
