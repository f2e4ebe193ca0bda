/** Proves where the value of a placeholder comes from, and that an empty text is no value. */

import { type Kysely, sql } from 'kysely';
import { filledParams, requiredNames } from '../../../src/campaigns/contacts/fill-params';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { ifThere } from '../../../src/domain/template';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('the values for placeholders', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    await db
      .insertInto('contacts')
      .values({
        id: 'con_1',
        workspace_id: 'ws',
        identity: 'x:7',
        external_id: '7',
        name: 'Ann',
        email: 'ann@example.com',
        phone: null,
        timezone: 'Europe/Rome',
        locale: '',
        params: JSON.stringify({ NAME: 'Annie', AGE: 41, EMPTY: '' }),
      })
      .execute();
  });

  async function fill(names: string[], campaignParams: Record<string, string | number> = {}) {
    const { rows } = await sql<{ params: object }>`
      select ${filledParams(names, campaignParams)} as params from contacts c`.execute(db);
    return rows[0]?.params;
  }

  test("a contact's param goes before its field, and its field before the campaign's param", async () => {
    const given = { NAME: 'You', EMAIL: 'no@example.com', AGE: 1, CITY: 'Rome', YEAR: 2026 };
    expect(await fill(['NAME', 'EMAIL', 'AGE', 'CITY', 'YEAR'], given)).toEqual({
      NAME: 'Annie',
      EMAIL: 'ann@example.com',
      AGE: 41,
      CITY: 'Rome',
      YEAR: 2026,
    });
  });

  test('what the service fills itself is optional, and filled from a contact’s value if there is one', async () => {
    const placeholders = ['NAME', ifThere('UNSUBSCRIBE_URL')];
    expect(requiredNames(placeholders)).toEqual(['NAME']);
    expect(await fill(placeholders)).toEqual({ NAME: 'Annie' });
    const own = { UNSUBSCRIBE_URL: 'https://example.com/bye' };
    expect(await fill(placeholders, own)).toEqual({ NAME: 'Annie', ...own });
  });

  test('an empty text is no value, and what has no value is absent', async () => {
    expect(await fill(['PHONE', 'LOCALE', 'EMPTY', 'CITY', 'TIMEZONE'], { CITY: '' })).toEqual({
      TIMEZONE: 'Europe/Rome',
    });
    expect(await fill([])).toEqual({});
  });

  test('where any may be asked for, every value is there that is', async () => {
    const given = { NAME: 'You', CITY: 'Rome' };
    const all = {
      NAME: 'Annie',
      AGE: 41,
      EMAIL: 'ann@example.com',
      EXTERNAL_ID: '7',
      TIMEZONE: 'Europe/Rome',
      CITY: 'Rome',
    };
    expect(await fill(['*'], given)).toEqual(all);
    expect(await fill(['NAME', 'EMPTY', '*'], given)).toEqual(all);
  });

  test('there may be more names than a function takes arguments', async () => {
    const names = Array.from({ length: 100 }, (_, i) => `P${i}`);
    const given = Object.fromEntries(names.map((name, i) => [name, i]));
    expect(await fill(names, given)).toEqual(given);
  });
});
