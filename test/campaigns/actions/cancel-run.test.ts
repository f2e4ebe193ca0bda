import { type Kysely, sql } from 'kysely';
import { cancelAbsent, cancelUnsent } from '../../../src/campaigns/actions/cancel-run';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { plantAudience } from '../../support/audience';
import { countedStates, storedStates, wrongCodeCounts } from '../../support/ledger-states';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('canceling a run', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  test('leaves unknown who waits for another message while an earlier one is in doubt', async () => {
    const { runId } = await plantAudience(db, { contacts: 4 });
    const waiting = ['doubts', 'asked again', 'both', 'neither'];
    await sql`
      update recipients set state = 'waiting', retry_at = now(), attempt = 1,
        code = case when seq in (1, 2) then 'answer_lost' else 'busy' end,
        doubts = case when seq in (0, 2) then '{0}'::smallint[] end
      where run_id = ${runId}`.execute(db);
    await sql`
      insert into shard_counts (run_id, channel, shard, state, count)
      select run_id, channel, shard, state, count(*) from recipients where run_id = ${runId} group by 1, 2, 3, 4`.execute(
      db,
    );
    await sql`
      insert into recipient_codes (run_id, channel, state, code, slot, count)
      select run_id, channel, state, code, shard % 8, count(*) from recipients where run_id = ${runId} group by 1, 2, 3, 4, 5`.execute(
      db,
    );
    const states = async () =>
      Object.fromEntries((await storedStates(db, runId)).map((state, i) => [waiting[i], state]));
    const first = { doubts: 'unknown', both: 'unknown', neither: 'canceled' };
    for (const _ of [1, 2]) {
      await cancelUnsent(db, runId);
      expect(await states()).toEqual({ ...first, 'asked again': 'accepted' });
    }
    await cancelAbsent(db, runId, [{ channel: 'sms', seq: 1 }]);
    expect(await states()).toEqual({ ...first, 'asked again': 'canceled' });
    expect(await countedStates(db, runId)).toEqual({ unknown: 2, canceled: 2 });
    expect(await wrongCodeCounts(db, runId)).toEqual([]);
  });
});
