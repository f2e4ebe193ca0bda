/** Proves that suppressions, webhooks, policy, users, keys and accounts are looked after in the browser. */

import type { Browser, Page } from 'playwright-core';
import { type ProcessTables, type RecordedProcess, recordProcess } from '../../src/app/processes';
import { createLog } from '../../src/log';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { startBrowser } from '../support/browser';
import { builtConsole, LOOKS } from '../support/console';
import { faultsOfPages, LOOK_TIMEOUT_MS, signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('settings in the console', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let user: { email: string; password: string };
  let webhookPath = '';
  let workers: RecordedProcess;

  beforeAll(async () => {
    browser = await startBrowser();
    const storage = await database.open();
    api = await startWholeApi(storage, { more: [builtConsole()] });
    ({ user } = await newWorkspace(api.identity));
    workers = await recordProcess({
      ...{ db: storage.tables<ProcessTables>(), roles: ['orchestrator', 'sender'], buildId: 'v1.4.0' },
      log: createLog('silent'),
    });
  });
  afterAll(async () => {
    await browser?.close();
    await workers?.stop();
    await api?.stop();
  });

  const open = (path: string) => signedInAt(browser, api.url, user, path);
  const inDialog = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name });

  test('an address is suppressed, found and lifted', async () => {
    const { page, complaints, close } = await open('/suppression');
    await page.getByText('No address is suppressed').waitFor();
    await page.getByRole('button', { name: 'Add an address' }).click();
    await page.getByLabel('Address', { exact: true }).fill('no address');
    await page.getByLabel('Reason').fill('<b>asked by phone</b>');
    await inDialog(page, 'Suppress').click();
    await page.locator('.wrong').waitFor();
    expect(await page.getByLabel('Reason').inputValue()).toBe('<b>asked by phone</b>');
    await page.getByLabel('Address', { exact: true }).fill('ada@example.com');
    await inDialog(page, 'Suppress').click();
    await page.getByRole('cell', { name: '<b>asked by phone</b>' }).waitFor();
    await page.getByLabel('Search').fill('ADA@');
    await page.getByRole('button', { name: /^Lift.*ada@example.com/ }).click();
    await inDialog(page, 'Lift').click();
    await page.getByText('Nothing found').waitFor();
    expect(complaints.filter((one) => !one.includes('422'))).toEqual([]);
    await close();
  });

  test('a file of suppressions is imported', async () => {
    const { page, close } = await open('/suppression');
    await page.getByRole('button', { name: 'Import' }).click();
    const text = 'channel,address,reason\nemail,bob@example.com,asked\nemail,wrong,asked\n';
    await page
      .getByLabel('CSV file')
      .setInputFiles({ name: 'stop.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
    await inDialog(page, 'Import').click();
    await page.getByText('Imported, with errors').waitFor();
    await inDialog(page, 'Close').click();
    await page.getByRole('cell', { name: 'bob@example.com', exact: true }).waitFor();
    await close();
  });

  test('a webhook shows its secret once, sends a test, and is disabled', async () => {
    const { page, complaints, close } = await open('/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).click();
    await page.getByLabel('Address').fill('https://hooks.example.com/in');
    await inDialog(page, 'Create').click();
    const secret = await page.locator('code.secret').textContent();
    expect(secret).toMatch(/^whsec_/);
    await page.keyboard.press('Escape');
    expect(await page.locator('code.secret').count()).toBe(1);
    await inDialog(page, 'I have kept it').click();
    await page.getByRole('link', { name: 'https://hooks.example.com/in' }).click();
    await page.getByRole('heading', { name: 'https://hooks.example.com/in' }).waitFor();
    webhookPath = new URL(page.url()).pathname.replace('/console', '');
    expect(await page.content()).not.toContain(secret);
    await page.getByRole('button', { name: 'Send a test event' }).click();
    await page.locator('tbody tr').first().waitFor();
    await page.getByRole('button', { name: 'Disable' }).click();
    await page.getByRole('button', { name: 'Enable' }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('a policy is set, refused where it is wrong, and kept', async () => {
    const { page, complaints, close } = await open('/policy');
    await page.getByLabel('Nothing goes out at certain hours').check();
    await page.getByLabel('Whose clock').fill('Nowhere/Land');
    await page.getByRole('button', { name: 'Add a cap' }).click();
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('Whose clock').inputValue()).toBe('Nowhere/Land');
    await page.getByLabel('Whose clock').fill('recipient');
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByText('Version 1, changed').waitFor();
    await page.reload();
    expect(await page.getByLabel('At most').inputValue()).toBe('3');
    expect(complaints.filter((one) => !one.includes('422'))).toEqual([]);
    await close();
  });

  test('a client and a key show their secrets once; a user gets a new password', async () => {
    const { page, complaints, close } = await open('/access?view=clients');
    await page.getByRole('button', { name: 'New client' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Shop');
    await inDialog(page, 'Create').click();
    await page.locator('code.secret').nth(1).waitFor();
    await inDialog(page, 'I have kept it').click();
    await page.getByRole('tab', { name: 'API keys' }).click();
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Shop key');
    await inDialog(page, 'Create').click();
    await page.locator('code.secret').waitFor();
    await inDialog(page, 'I have kept it').click();
    await page.getByRole('button', { name: /^Revoke.*Shop key/ }).click();
    await inDialog(page, 'Revoke').click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  });

  test('an account is checked, and a route is set and kept in its order', async () => {
    const { page, close } = await open('/carriers');
    await page.getByRole('button', { name: 'New account' }).click();
    await page.getByLabel('Kind').selectOption('http');
    await page.getByLabel('Name').fill('Second carrier');
    await page.getByLabel('url').fill('https://carrier.example.com/send');
    await inDialog(page, 'Create').click();
    await page.getByRole('button', { name: /^Check.*Second carrier/ }).click();
    await page.getByText('carrier.example:443: connected').waitFor();
    await page.getByRole('tab', { name: 'Routes' }).click();
    await page.getByRole('button', { name: 'Add a route' }).click();
    await page.getByLabel('Numbers that begin with').fill('+49');
    await page.getByLabel('Add an account').selectOption('Second carrier');
    await page.getByRole('button', { name: 'Save routes' }).click();
    await page.getByText('The routes are in force').waitFor();
    await close();
  });

  test('an owner sees the processes of the installation, and others read whom to ask', async () => {
    const { page, complaints, close } = await open('/system');
    const row = page.getByRole('row', { name: String(process.pid) });
    await row.getByText('runs of campaigns, sending').waitFor();
    expect(await row.textContent()).toMatch(/Lives.*build v1\.4\.0/);
    await page.getByText('temporal.example:7233').waitFor();
    await page.getByText('It does not answer').waitFor();
    expect(complaints).toEqual([]);
    await close();

    const { user: admin } = await newWorkspace(api.identity);
    const other = await signedInAt(browser, api.url, admin, '/system');
    await other.page.getByText('Processes').waitFor();
    expect(await other.page.getByText('temporal.example').count()).toBe(0);
    expect(other.complaints).toEqual([]);
    await other.close();
  });

  test.each(LOOKS)(
    'each page is accessible: $name',
    async (way) => {
      const shows = (selector: string) => (page: Page) => page.locator(selector).first().waitFor();
      const found = await faultsOfPages(browser, api.url, user, way, [
        { name: 'suppression', path: '/suppression', ready: shows('tbody tr') },
        { name: 'webhooks', path: '/webhooks', ready: shows('tbody tr') },
        { name: 'webhook', path: webhookPath, ready: shows('tbody tr') },
        { name: 'policy', path: '/policy', ready: shows('form') },
        { name: 'users', path: '/access', ready: shows('tbody tr') },
        { name: 'clients', path: '/access?view=clients', ready: shows('tbody tr') },
        { name: 'keys', path: '/access?view=keys', ready: shows('tbody tr') },
        { name: 'accounts', path: '/carriers', ready: shows('tbody tr') },
        { name: 'routes', path: '/carriers?view=routes', ready: shows('form .card, form .state') },
        {
          name: 'senders',
          path: '/carriers?view=senders',
          ready: shows('[role=tabpanel] .state, tbody'),
          mayBeAbsent: true,
        },
        { name: 'audit', path: '/audit', ready: shows('.state, tbody'), mayBeAbsent: true },
        { name: 'system', path: '/system', ready: shows('#temporal') },
        { name: 'account', path: '/account', ready: shows('form'), mayBeAbsent: true },
      ]);
      expect(found).toEqual({});
    },
    LOOK_TIMEOUT_MS,
  );
});
