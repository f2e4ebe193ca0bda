/** Proves that a changed policy soon holds in every process, whatever its clock does. */

import { sql } from 'kysely';
import { policySource } from '../../src/app/between-halves';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('the policy for messages', (database) => {
  test('is read again after the clock was set back', async () => {
    const storage = await database.open();
    const clock = { nowMs: 3_600_000 };
    const policyOf = policySource(storage.tables<CampaignTables>(), () => clock.nowMs);
    expect(await policyOf('ws')).toBeUndefined();
    await sql`insert into policy_versions (workspace_id, version, policy) values ('ws', 1, '{}')`.execute(
      storage.tables(),
    );
    expect(await policyOf('ws')).toBeUndefined();
    clock.nowMs = 0;
    expect(await policyOf('ws')).toBeDefined();
  });
});
