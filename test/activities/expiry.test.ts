import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import type { Gateway } from '../../src/gateway/gateway';
import { plantAudience } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { PageRig, StubService } from './page-rig';

/** Proves that recipients whose time is over need no permit to end. */
describeWithDatabase('recipients of a slow campaign whose time is over', (database) => {
  let db: Kysely<CampaignTables>;
  let service: StubService;
  let gateway: Gateway;
  let rig: PageRig;

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    service = new StubService();
    service.capabilities = ['idempotent'];
    gateway = await service.start();
    rig = new PageRig(db, gateway);
  });
  afterAll(async () => {
    await gateway.close();
    await service.stop();
  });

  test('end together, and those in time are sent to at the pace', async () => {
    const options = { delivery: { ratePerSecond: 0.01, expireAfterSeconds: 3_600 } };
    const { runId } = await plantAudience(db, { contacts: 6, options });
    await sql`insert into run_paces (run_id, rate) values (${runId}, 0.01)`.execute(db);
    await sql`update recipients set due_at = now() - interval '2 hours' where run_id = ${runId} and seq < 3`.execute(
      db,
    );
    await sql`
      update recipients set state = 'waiting', code = 'timeout', retry_at = now() where run_id = ${runId} and seq = 0`.execute(
      db,
    );
    await sql`update shards set next_seq = 1 where run_id = ${runId}`.execute(db);
    await sql`insert into shard_counts (run_id, channel, shard, state, count) values (${runId}, 'sms', 0, 'waiting', 1)`.execute(
      db,
    );
    await rig.sendPage(runId);
    expect(await rig.states(runId)).toMatchObject({ expired: 3 });
    expect(service.sent).toHaveLength(1);
  });
});
