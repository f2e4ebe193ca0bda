/** Proves that a message is compared with a long list by its index. */

import { sql } from 'kysely';
import { createSuppressionList } from '../../../src/messaging/suppression/suppression';
import { isSuppressed } from '../../../src/messaging/suppression/suppression-check';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';
import { createOutboxRig } from '../outbox-rig';

describeWithDatabase('a list of a million blocks', (database) => {
  test('is asked through its index alone', async () => {
    const rig = await createOutboxRig(await database.open());
    const list = createSuppressionList({ db: rig.db });
    await sql`
      insert into suppressions (id, workspace_id, address, channel, reason, source)
      select ${newId('sup')} || lpad(i::text, 7, '0'), ${rig.workspaceId}, '+1' || (2020000000 + i), 'sms', 'import', 'csv'
      from generate_series(1, 1000000) i
    `.execute(rig.db);
    await sql`vacuum analyze suppressions`.execute(rig.db);
    const one = await rig.process();
    const messages = Array.from({ length: 500 }, (_, i) =>
      rig.sms(`m${i}`, { to: `+1${2_020_000_100 - i}` }),
    );
    const startedAt = performance.now();
    const answers = await one.delivery.acceptMany(rig.workspaceId, messages);
    const tookMs = performance.now() - startedAt;
    expect(answers.filter((answer) => answer.ok && answer.answer.state === 'suppressed')).toHaveLength(100);
    expect(tookMs).toBeLessThan(1_500);
    const { rows } = await sql<Record<string, string>>`
      explain select ${isSuppressed(rig.workspaceId, {
        channel: sql`'sms'`,
        to: sql`r.to_address`,
        from: sql`'12345'::text`,
      })} from unnest(${messages.map(({ to }) => to)}::text[]) as r(to_address)
    `.execute(rig.db);
    const plan = rows.map((row) => Object.values(row)[0]).join('\n');
    expect(plan).toContain('Index Only Scan using suppressions_pkey on suppressions s');
    expect(plan).not.toMatch(/Seq Scan on suppressions s\b/);
    const page = await list.list(rig.workspaceId, { page: 1, limit: 20 });
    expect(page.suppressions).toHaveLength(20);
    await rig.stop();
  });
});
