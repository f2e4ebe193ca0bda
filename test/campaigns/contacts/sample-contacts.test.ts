import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { createContactLists } from '../../../src/campaigns/contacts/contact-lists';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { describeWithDatabase } from '../../support/storage';

const SAMPLE = join(__dirname, '../../../samples/contacts.csv');
/** Ranges that are kept free for examples and drama: nobody can be reached there. */
const FICTIONAL = /^(\+1\d{3}55501\d\d|\+44207946\d{4}|\+33199\d{6}|\+493023125\d{3})$/;

describeWithDatabase('the sample contacts', (database) => {
  let db: Kysely<CampaignTables>;
  beforeEach(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  test('are imported with their faulty rows counted, and reach no real address', async () => {
    const lists = createContactLists({ db });
    const { id } = await lists.create('ws', { name: 'Sample' });
    const target = { workspaceId: 'ws', listId: id, country: 'US' } as const;
    const { errors, ...counts } = await lists.importCsv(target, createReadStream(SAMPLE));
    expect(counts).toEqual({ received: 185, created: 166, updated: 1, unchanged: 8, rejected: 10 });
    expect(new Set(errors.map((error) => error.code))).toEqual(
      new Set([
        'invalid_phone',
        'invalid_email',
        'invalid_timezone',
        'no_address',
        'too_many_values',
        'unclosed_quote',
      ]),
    );

    const { contacts } = await lists.contacts({ workspaceId: 'ws', listId: id }, { limit: 1_000 });
    for (const { email, phone } of contacts) {
      if (email !== null) expect(email).toMatch(/@example\.(com|org|net)$/);
      if (phone !== null) expect(phone).toMatch(FICTIONAL);
    }
    const phones = contacts.flatMap(({ phone }) => phone ?? []);
    expect(new Set(phones).size).toBe(phones.length - 3);
    expect(new Set(contacts.map(({ timezone }) => timezone)).size).toBeGreaterThan(10);
    expect(contacts.filter(({ name }) => name === null)).toHaveLength(3);
  });
});
