/** Proves that a person can be erased whose contact was deleted with the last list that it was in. */

import { type Kysely, sql } from 'kysely';
import { keepErasing, suppressErased } from '../../src/app/erasures';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import { createContactLists } from '../../src/campaigns/contacts/contact-lists';
import { eraseContact } from '../../src/campaigns/contacts/erase-contact';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { LIMITS } from '../../src/domain/limits';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createCancellations } from '../../src/messaging/outbox/cancellations';
import { createWithdrawals } from '../../src/messaging/outbox/withdrawals';
import type { Storage } from '../../src/storage/storage';
import { plantRun } from '../support/audience';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

describeWithDatabase('a person whose contact was taken out of its only list', (database) => {
  let storage: Storage;
  let db: Kysely<CampaignTables>;
  beforeEach(async () => {
    storage = await database.open();
    db = storage.tables<CampaignTables>();
  });

  test('is erased by the id that their recipients have, in their own workspace alone', async () => {
    const { runId, listId, workspaceId } = await plantRun(db, { contacts: 2 });
    await sql`insert into contact_lists (id, workspace_id, name) values (${listId}, ${workspaceId}, 'L')`.execute(
      db,
    );
    await freezeAudience(db, {
      ...{ runId, workspaceId, channel: 'sms', contactListIds: [listId], placeholders: ['NAME'] },
      campaignParams: {},
    });
    const contactId = `${listId}-0000001`;
    await createContactLists({ db }).removeContact({ workspaceId, listId }, contactId);

    for (const key of [
      { workspaceId: 'ws_other', contactId },
      { workspaceId, contactId: 'con_unknown' },
    ])
      await expect(eraseContact(db, key, suppressErased)).rejects.toMatchObject({ code: 'not_found' });
    const first = await eraseContact(db, { workspaceId, contactId }, suppressErased);
    expect(await eraseContact(db, { workspaceId, contactId }, suppressErased)).toEqual(first);
    await sql`update erasures set created_at = now() - make_interval(secs => ${LIMITS.erasureSettleMs / 1_000})`.execute(
      db,
    );
    const log = createLog('silent');
    const messaging = storage.tables<MessagingTables>();
    const erasures = keepErasing({
      ...{ storage, log },
      delivery: createCancellations({
        db: messaging,
        withdrawals: createWithdrawals({ db: messaging, providerOf: () => undefined, log }),
        onCanceled: () => undefined,
      }),
      cancelSend: async () => undefined,
    });
    await until(
      'the erasure is done',
      async () => {
        await erasures.look();
        return (await db.selectFrom('erasures').select('done_at').executeTakeFirst())?.done_at !== null;
      },
      30_000,
    );
    erasures.stop();
    const recipients = await db
      .selectFrom('recipients')
      .select(['contact_id', 'address', 'params'])
      .orderBy('contact_id')
      .execute();
    expect(recipients).toEqual([
      { contact_id: contactId, address: null, params: {} },
      { contact_id: `${listId}-0000002`, address: '+12022000002', params: { NAME: 'Name 2' } },
    ]);
    expect(await sql`select from suppressions where source = 'erased'`.execute(db)).toMatchObject({
      rows: [{}],
    });
  });
});
