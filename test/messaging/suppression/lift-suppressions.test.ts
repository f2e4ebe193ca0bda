/** Proves that lifted suppressions are remembered. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../../src/domain/limits';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { liftSuppressions } from '../../../src/messaging/suppression/lift-suppressions';
import { upsertSuppressions } from '../../../src/messaging/suppression/suppression-rows';
import { createUnsubscribe } from '../../../src/messaging/suppression/unsubscribe';
import { createUnsubscribeTokens } from '../../../src/messaging/suppression/unsubscribe-tokens';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';

const address = 'ann@example.com';

describeWithDatabase('blocks that are lifted', (database) => {
  let db: Kysely<MessagingTables>;
  let workspaceId: string;
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });
  beforeEach(() => {
    workspaceId = newId('wsp');
  });

  const block = (reason: string, sender?: string) =>
    upsertSuppressions(db, workspaceId, [{ channel: 'email', address, reason, sender }], 'api');
  const lift = () =>
    liftSuppressions(db, { workspaceId, address, channel: 'email' }, sql<boolean>`true`, 'api');
  const lifted = () =>
    db
      .selectFrom('lifted_suppressions')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .orderBy('lifted_at')
      .orderBy('id')
      .execute();
  const blocks = () =>
    db.selectFrom('suppressions').select('reason').where('workspace_id', '=', workspaceId).execute();

  test('are gone from the list and remembered as they were', async () => {
    await block('one', 'a@example.com');
    await block('two', 'b@example.com');
    expect(await lift()).toBe(2);
    expect(await blocks()).toEqual([]);
    expect(await lifted()).toMatchObject([
      { address, channel: 'email', sender: 'a@example.com', reason: 'one', source: 'api', lifted_by: 'api' },
      { address, channel: 'email', sender: 'b@example.com', reason: 'two', source: 'api', lifted_by: 'api' },
    ]);
    expect(await lift()).toBe(0);
    expect(await lifted()).toHaveLength(2);
  });

  test('are remembered up to a number of each address, the latest of them', async () => {
    for (let i = 0; i < LIMITS.liftedBlocks + 3; i++) {
      await block(`block ${i}`);
      await lift();
      // Two blocks in one millisecond have no order that a caller can see.
      const liftedAt = Date.now();
      while (Date.now() === liftedAt) await nextTurn();
    }
    const remembered = (await lifted()).map(({ reason }) => reason);
    expect(remembered).toEqual(Array.from({ length: LIMITS.liftedBlocks }, (_, i) => `block ${i + 3}`));
  });

  test('by the page that unsubscribes are those that its link made', async () => {
    const tokens = createUnsubscribeTokens('secret');
    const pages = createUnsubscribe({ db, tokens });
    await pages.unsubscribe({ workspaceId, address });
    await block('asked', 'a@example.com');
    await pages.resubscribe({ workspaceId, address });
    await pages.resubscribe({ workspaceId, address });
    expect(await blocks()).toEqual([{ reason: 'asked' }]);
    expect(await lifted()).toMatchObject([
      { sender: '', reason: 'one_click', source: 'unsubscribe', lifted_by: 'page' },
    ]);
  });
});
