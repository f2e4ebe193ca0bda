/** Proves that persons whose erasure must wait do not keep other persons from being erased. */

import { type Kysely, sql } from 'kysely';
import { keepErasing, suppressErased } from '../../src/app/erasures';
import { eraseContact } from '../../src/campaigns/contacts/erase-contact';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { LIMITS } from '../../src/domain/limits';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createCancellations } from '../../src/messaging/outbox/cancellations';
import { createWithdrawals } from '../../src/messaging/outbox/withdrawals';
import type { Storage } from '../../src/storage/storage';
import { plantAudience } from '../support/audience';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('erasures that wait for the end of a durable send', (database) => {
  let storage: Storage;
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    storage = await database.open();
    db = storage.tables<CampaignTables>();
  });

  test('let a person of another workspace be erased in the same look', async () => {
    await sql`
      with waiting as (
        select 'era_' || lpad(i::text, 6, '0') as id, '+1202' || (5550000 + i) as phone from generate_series(1, ${LIMITS.erasuresAtOnce}::int) i
      ), sent as (
        insert into durable_sends (id, workspace_id, uid, channel, content, state, due_at)
        select 'snd_' || id, 'ws_many', id, 'sms', jsonb_build_object('to', phone), 'sent', now() from waiting
      )
      insert into erasures (id, workspace_id, contact_id, addresses, words)
      select id, 'ws_many', 'con_' || id, array[phone], '{}' from waiting`.execute(db);
    const { runId, workspaceId, listId } = await plantAudience(db, { contacts: 1 });
    await eraseContact(db, { workspaceId, contactId: `${listId}-0000001` }, suppressErased);
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
    await erasures.look();
    erasures.stop();
    expect(await db.selectFrom('recipients').select('address').where('run_id', '=', runId).execute()).toEqual(
      [{ address: null }],
    );
    const waiting = db.selectFrom('erasures').select('id').where('workspace_id', '=', 'ws_many');
    expect(await waiting.where('done_at', 'is', null).execute()).toHaveLength(LIMITS.erasuresAtOnce);
  });
});
