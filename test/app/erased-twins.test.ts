/** Proves which other contacts go with a person who is erased: those that are of nothing but their addresses. */

import type { Kysely } from 'kysely';
import { suppressErased } from '../../src/app/erasures';
import { checkContact, type RawContact } from '../../src/campaigns/contacts/contact-row';
import { upsertContacts } from '../../src/campaigns/contacts/contacts';
import { eraseContact } from '../../src/campaigns/contacts/erase-contact';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('other contacts with the addresses of an erased person', (database) => {
  let db: Kysely<CampaignTables>;
  const list = { workspaceId: 'ws_a', listId: 'lst_a' };
  const email = 'zoe@example.com';
  const phone = '+12025550161';

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    await db
      .insertInto('contact_lists')
      .values({ id: list.listId, workspace_id: list.workspaceId, name: 'L' })
      .execute();
  });

  async function store(raws: readonly RawContact[]): Promise<void> {
    const rows = raws.map((raw) => {
      const checked = checkContact(raw, undefined);
      if ('findings' in checked) throw new Error(JSON.stringify(checked.findings));
      return checked.row;
    });
    await upsertContacts(db, list, rows);
  }

  test('one that has both of them is deleted, one that has another address too keeps that', async () => {
    await store([
      { externalId: 'shop-1', name: 'Zoe', email, phone },
      { externalId: 'crm-9', name: 'Zoe Q.', email: 'Zoe@Example.com', phone, params: { CITY: 'Rome' } },
      { externalId: 'crm-10', name: 'Mo', email: 'mo@example.com', phone },
      { externalId: 'crm-11', name: 'No mail', phone },
    ]);
    const { id: contactId } = await db
      .selectFrom('contacts')
      .select('id')
      .where('external_id', '=', 'shop-1')
      .executeTakeFirstOrThrow();
    await eraseContact(db, { workspaceId: list.workspaceId, contactId }, suppressErased);
    const left = await db.selectFrom('contacts').select(['external_id', 'name', 'email', 'phone']).execute();
    expect(left).toEqual([{ external_id: 'crm-10', name: 'Mo', email: 'mo@example.com', phone: null }]);
  });
});
