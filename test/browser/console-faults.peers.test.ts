/** Proves what the console says and keeps when a server is slow, a session ends, or a page is left in the middle. */

import type { Browser, Page } from 'playwright-core';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { openPage, startBrowser } from '../support/browser';
import { builtConsole } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

describeWithDatabase('the console under faults', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let workspace: string;
  let headers: Record<string, string>;
  let user: { email: string; password: string };

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open(), { more: [builtConsole()] });
    const made = await newWorkspace(api.identity);
    user = made.user;
    workspace = made.workspace.id;
    headers = { authorization: await bearerFor(api.identity, made) };
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

  test('a page that shows what could not be read anew says so, until it can', async () => {
    const body = { url: 'https://hooks.example.com/in', events: ['message.*'] };
    const { id } = (await api.call('POST', '/api/webhook', { headers, body })).body.data;
    const { page, close } = await open(`/webhooks/${id}`);
    await page.getByText(body.url).first().waitFor();
    const banner = page.getByText('Not everything on this page could be read anew');
    await page.route('**/api/webhook/**', (route) =>
      route.fulfill({ status: 503, json: { code: 'unavailable', detail: 'The database does not answer' } }),
    );
    await banner.waitFor();
    expect(await page.getByText(body.url).count()).toBeGreaterThan(0);
    await page.unroute('**/api/webhook/**');
    await banner.getByRole('button', { name: 'Try again' }).click();
    await banner.waitFor({ state: 'detached' });
    // Another person deletes it.
    await api.call('DELETE', `/api/webhook/${id}`, { headers });
    await banner.waitFor();
    await close();
  }, 60_000);

  test('a page offers no longer what the role of the person does not reach since', async () => {
    const by = { workspaceId: workspace, role: 'owner' as const };
    const email = 'lowered@faults.example';
    const { user: made, password } = await api.identity.users.create(by, { email, role: 'admin' });
    const { page, close } = await signedInAt(browser, api.url, { email, password }, '/webhooks');
    const create = page.getByRole('button', { name: 'New webhook' }).first();
    await create.click();
    await page.getByRole('textbox', { name: 'Address' }).fill('https://hooks.example.com/in');
    await api.identity.users.setRole(by, made.id, 'viewer');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('your role is viewer').first().waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await create.waitFor({ state: 'detached' });
    await close();
  }, 60_000);

  test('what is made is made once, also when the answer to the first press is lost', async () => {
    const { page, close } = await open('/account');
    const press = (name: string) => page.getByRole('button', { name, exact: true }).first().click();
    const type = (label: string, text: string) => page.getByLabel(label, { exact: true }).fill(text);
    async function twice(api: string, button: string): Promise<void> {
      let asked = 0;
      await page.route(api, async (route) => {
        if (route.request().method() !== 'POST') return route.continue();
        asked += 1;
        if (asked > 1) return route.continue();
        await route.fetch();
        return route.abort();
      });
      const submit = page.getByRole('button', { name: button, exact: true }).last();
      await submit.click();
      await page.getByRole('alert').waitFor();
      await submit.click();
      await page.getByRole('alert').waitFor({ state: 'detached' });
      await page.unroute(api);
    }
    const goto = (path: string) => page.goto(`${api.url}/console${path}`);
    await goto('/carriers');
    await press('New account');
    await page.getByLabel('Kind').selectOption('simulator');
    await type('Name', 'Once');
    await twice('**/api/admin/accounts', 'Create');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const accounts = await page.evaluate<{ data: { name: string }[] }>(
      'fetch("/api/admin/accounts").then((answer) => answer.json())',
    );
    expect(accounts.data.filter(({ name }) => name === 'Once')).toHaveLength(1);
    await goto('/carriers?view=senders');
    await press('Register a sender');
    await type('Sender', 'once.example');
    await twice('**/api/admin/senders', 'Create');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await goto('/access');
    await press('New user');
    await type('Email', 'once@faults.example');
    await twice('**/api/admin/users', 'Create');
    await page.getByRole('dialog', { name: 'The new password' }).waitFor();
    await goto('/templates/new/sms');
    await type('Name', 'Once');
    await page.getByLabel('Text', { exact: true }).fill('Hello');
    await twice('**/api/template', 'Create template');
    await page.getByRole('heading', { name: 'Once', level: 1 }).waitFor();
    const listed = await api.call('GET', '/api/template?channel=sms&search=Once', { headers });
    expect(listed.body.templates).toHaveLength(1);
    await close();
  }, 90_000);

  async function importing(path: string, press?: string) {
    const one = await open(path);
    const { page } = one;
    const ended: string[] = [];
    page.on('requestfailed', (request) => ended.push(request.method()));
    await page.route(/contacts$|suppression$/, (route) =>
      route.request().method() === 'POST' ? undefined : route.continue(),
    );
    if (press) await page.getByRole('button', { name: press, exact: true }).click();
    await page
      .getByLabel('CSV file')
      .setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('channel,address\n') });
    await page.getByRole('button', { name: 'Import', exact: true }).last().click();
    await page.getByRole('progressbar').waitFor();
    const question = page.getByRole('dialog', { name: 'The import is still under way' });
    const answer = (name: string) => question.getByRole('button', { name }).click();
    return { ...one, question, answer, isEnded: () => ended.includes('POST') };
  }

  test('a page whose import is under way is left only when the person says so', async () => {
    const { id } = (await api.call('POST', '/api/contact-list', { headers, body: { name: 'Readers' } })).body
      .data;
    const { page, question, answer, isEnded, close } = await importing(`/contacts/lists/${id}/import`);
    await page.getByRole('link', { name: 'Home' }).click();
    await question.waitFor();
    await answer('Cancel');
    const asked: string[] = [];
    page.on('dialog', (dialog) => {
      asked.push(dialog.type());
      return dialog.dismiss();
    });
    await page.evaluate('location.assign("/docs")').catch(() => undefined);
    await until('the browser asks', async () => asked.length > 0, 10_000);
    expect(asked).toEqual(['beforeunload']);
    await page.getByRole('progressbar').waitFor();
    expect(isEnded()).toBe(false);
    await page.getByRole('link', { name: 'Home' }).click();
    await answer('Stop the import and leave');
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    await until('the import ends', async () => isEnded(), 10_000);
    await close();
  }, 60_000);

  test('a dialog whose import is under way is closed only when the person says so', async () => {
    const { page, question, answer, isEnded, close } = await importing('/suppression', 'Import');
    await page.keyboard.press('Escape');
    await question.waitFor();
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    expect(isEnded()).toBe(false);
    await page.getByRole('button', { name: 'Close' }).click();
    await answer('Stop the import and leave');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await until('the import ends', async () => isEnded(), 10_000);
    await close();
  }, 60_000);

  async function signInAgain(page: Page): Promise<void> {
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  test('an import that the end of the session cut off is named after signing in again', async () => {
    const { id } = (await api.call('POST', '/api/contact-list', { headers, body: { name: 'Cut' } })).body
      .data;
    const { page, close } = await importing(`/contacts/lists/${id}/import`);
    await page.context().clearCookies();
    await signInAgain(page);
    await page.getByText('The import of a.csv has not come to its end').waitFor();
    await close();
  }, 60_000);

  test('what is typed into a small form is there after signing in again, and gone when the form was closed', async () => {
    const { page, close } = await open('/webhooks');
    const begin = () => page.getByRole('button', { name: 'New webhook' }).first().click();
    const address = page.getByRole('textbox', { name: 'Address' });
    const description = page.getByLabel('Description');
    await begin();
    await address.fill('https://hooks.example.com/in');
    await description.fill('For the shop');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Create' }).click();
    await signInAgain(page);
    await begin();
    expect([await address.inputValue(), await description.inputValue()]).toEqual([
      'https://hooks.example.com/in',
      'For the shop',
    ]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await begin();
    expect([await address.inputValue(), await description.inputValue()]).toEqual(['', '']);
    await close();
  }, 60_000);

  test('no secret is kept with what is typed', async () => {
    const { page, close } = await open('/carriers?view=senders');
    await page.getByRole('button', { name: 'Register a sender' }).click();
    await page.getByLabel('Sender', { exact: true }).fill('shop@example.com');
    await page.getByLabel('DKIM selector').fill('s1');
    await page.getByLabel('Private key').fill('the private key');
    const stored = await page.evaluate<string>('JSON.stringify({ ...sessionStorage, ...localStorage })');
    expect(stored).toContain('shop@example.com');
    expect(stored).not.toContain('the private key');
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
