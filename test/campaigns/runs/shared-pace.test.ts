/** Proves that pages of one process share the statement that reads their control and rate. */

import { sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { readPaceTogether } from '../../../src/campaigns/runs/shared-pace';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('pages that wait', (database) => {
  test('read what is wanted of their runs by one statement, and a change with the next one', async () => {
    let statements = 0;
    const db = (await database.open()).tables<CampaignTables>().withPlugin({
      transformQuery: ({ node }) => {
        statements++;
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    const runs = [await plantRun(db, { contacts: 1 }), await plantRun(db, { contacts: 1 })];
    const [first = '', second = ''] = runs.map(({ runId }) => runId);
    statements = 0;
    const pages = Array.from({ length: 100 }, (_, i) => readPaceTogether(db, i % 2 ? first : second));
    for (const pace of await Promise.all(pages))
      expect(pace).toEqual({ control: 'run', ratePerSecond: null, id: expect.any(String) });
    expect(statements).toBe(1);
    await sql`update runs set control = 'pause' where id = ${first}`.execute(db);
    const [paused, other] = await Promise.all([readPaceTogether(db, first), readPaceTogether(db, second)]);
    expect([paused.control, other.control]).toEqual(['pause', 'run']);
    await expect(readPaceTogether(db, 'run_none')).rejects.toMatchObject({ code: 'run_not_found' });
  });
});
