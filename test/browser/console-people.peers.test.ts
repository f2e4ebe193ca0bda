/** Proves that contacts can be imported, found, changed and erased in the browser. */

import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { startBrowser } from '../support/browser';
import { builtConsole, LOOKS } from '../support/console';
import { faultsOfPages, LOOK_TIMEOUT_MS, signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';

const HOSTILE = '<img src=x onerror=alert(1)>';
const FILE = `email,name,phone,City
ada@example.com,Ada Lovelace,,London
not an address,Nobody,,
bob@example.com,"${HOSTILE}",+15550100123,Paris
eve@example.com,Eve,12,Rome
`;

describeWithDatabase('contacts in the console', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let user: { email: string; password: string };

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open(), { more: [builtConsole()] });
    ({ user } = await newWorkspace(api.identity));
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  test('a file with errors is imported, its wrong rows are listed by line and can be downloaded', async () => {
    const { page, complaints, close } = await signedInAt(browser, api.url, user, '/contacts');
    await page.getByText('No list yet').waitFor();
    await page.getByRole('button', { name: 'New list' }).first().click();
    await page.getByLabel('Name of the list').fill('Spring');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Spring', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Import' }).first().click();
    await page
      .getByLabel('CSV file')
      .setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: Buffer.from(FILE) });
    await page.getByRole('button', { name: 'Import' }).click();
    await page.getByText('Imported, with errors').waitFor();
    const rows = await page.locator('tbody tr').allTextContents();
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/^3email/);
    expect(rows[1]).toMatch(/^5phone/);
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('people-errors.csv');
    expect(readFileSync(await saved.path(), 'utf8').split('\r\n')[1]).toMatch(/^3,email,/);
    expect(complaints).toEqual([]);
    await close();
  });

  test('a person is found, a hostile name is a name, and a change is kept', async () => {
    const { page, complaints, close } = await signedInAt(browser, api.url, user, '/contacts?view=people');
    await page.getByLabel('Search').fill('bob@');
    await page.getByRole('link', { name: HOSTILE }).click();
    await page.getByRole('heading', { name: HOSTILE, level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Time zone').fill('Nowhere/Land');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect(await page.getByLabel('Time zone').inputValue()).toBe('Nowhere/Land');
    await page.getByLabel('Time zone').fill('Europe/Paris');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved').waitFor();
    await page.locator('dd', { hasText: 'Europe/Paris' }).waitFor();
    // The refused change is a failed request, of which browsers tell in their console.
    expect(complaints.filter((one) => !one.includes('422'))).toEqual([]);
    await close();
  });

  test.each(LOOKS)(
    'each page is accessible: $name',
    async (way) => {
      const db = api.rig.db;
      const list = await db
        .selectFrom('contact_lists' as never)
        .select('id' as never)
        .executeTakeFirstOrThrow();
      const contact = await db
        .selectFrom('contacts' as never)
        .select('id' as never)
        .executeTakeFirstOrThrow();
      const { id } = list as { id: string };
      const text = (name: string) => (page: Page) => page.getByText(name).first().waitFor();
      const found = await faultsOfPages(browser, api.url, user, way, [
        { name: 'contacts', path: '/contacts', ready: text('Spring') },
        { name: 'people', path: '/contacts?view=people', ready: text('Ada Lovelace') },
        { name: 'list', path: `/contacts/lists/${id}`, ready: text('Ada Lovelace') },
        { name: 'import', path: `/contacts/lists/${id}/import`, ready: text('CSV file') },
        {
          name: 'contact',
          path: `/contacts/${(contact as { id: string }).id}`,
          ready: text('No message yet'),
        },
      ]);
      expect(found).toEqual({});
    },
    LOOK_TIMEOUT_MS,
  );

  test('erasing says what will happen, and the person is gone from the list', async () => {
    const { page, close } = await signedInAt(browser, api.url, user, '/contacts?view=people&search=ada@');
    await page.getByRole('link', { name: 'Ada Lovelace' }).click();
    await page.getByRole('button', { name: 'Erase' }).click();
    await page.getByText('This cannot be undone').waitFor();
    await page.getByRole('button', { name: 'Erase for good' }).click();
    await page.getByText('Erasing has begun').waitFor();
    await close();
  });
});
