/** Proves what the console says and keeps when a server is slow, a session ends, or a page is left in the middle. */

import type { Browser } from 'playwright-core';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { openPage, startBrowser } from '../support/browser';
import { builtConsole } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('the console under faults', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let user: { email: string; password: string };

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open(), { more: [builtConsole()] });
    const made = await newWorkspace(api.identity);
    user = made.user;
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  const open = (path: string) => signedInAt(browser, api.url, user, path);

  test('a page whose reading never ends says so after a minute, and reads once more when asked', async () => {
    const { page, close } = await open('/account');
    await page.clock.install();
    await page.route('**/api/webhook?**', () => undefined);
    await page.goto(`${api.url}/console/webhooks`);
    await page.getByText('Loading').waitFor({ state: 'attached' });
    await page.clock.fastForward(61_000);
    await page.getByText('The server has not answered within 60 s').waitFor();
    await page.unroute('**/api/webhook?**');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('button', { name: 'New webhook' }).first().waitFor();
    await close();
  }, 60_000);

  test('a session has ended only where there was one', async () => {
    const ended = 'Your session has ended';
    const { page, close } = await openPage(browser);
    await page.goto(`${api.url}/console/webhooks`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByText(ended).count()).toBe(0);
    await close();
    const had = await open('/webhooks');
    await had.page.context().clearCookies();
    await had.page.reload();
    await had.page.getByText(ended).waitFor();
    await had.close();
  }, 60_000);
});
