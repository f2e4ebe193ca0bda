/** Proves that forms of the console send what they show, keep it, and act where the page says. */

import type { Browser, Page } from 'playwright-core';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { startBrowser } from '../support/browser';
import { builtConsole } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

interface Person {
  user: { email: string; password: string };
  headers: Record<string, string>;
}

describeWithDatabase('what the console holds and sends', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let ada: Person;
  let bob: Person;
  let list: string;

  const post = async (path: string, body: unknown, { headers } = ada) =>
    (await api.call('POST', path, { headers, body })).body;

  async function personOfNewWorkspace(): Promise<Person> {
    const made = await newWorkspace(api.identity);
    return { user: made.user, headers: { authorization: await bearerFor(api.identity, made) } };
  }

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open(), { more: [builtConsole()] });
    ada = await personOfNewWorkspace();
    bob = await personOfNewWorkspace();
    list = (await post('/api/contact-list', { name: 'Readers' })).data.id;
    await post(`/api/contact-list/${list}/contacts`, { contacts: [{ name: 'Ada', phone: '+12025550143' }] });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  const open = (path: string, options = {}) => signedInAt(browser, api.url, ada.user, path, options);
  const template = async (templateName: string): Promise<string> =>
    (await post('/api/template', { channel: 'sms', templateName, body: 'Hello {{NAME}}' })).template.id;
  async function draft(name: string, more: object = {}): Promise<string> {
    const settings = { sms: { shortCode: '12345', templateId: await template(name), version: 1 } };
    const body = { name, channel: ['sms'], start: false, contactListId: [list], settings, ...more };
    return (await post('/api/campaign', body)).data.id;
  }
  const read = async (id: string) => (await api.call('GET', `/api/campaign/${id}`, ada)).body.data;
  const value = (page: Page, label: string) => page.getByLabel(label, { exact: true }).inputValue();

  async function signIn(page: Page, { user }: Person): Promise<void> {
    await page.goto(`${api.url}/console/sign-in`);
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  }

  test('a secret stays on the page however often Escape is pressed', async () => {
    const { page, close } = await open('/access?view=keys');
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Shop');
    await page.getByRole('button', { name: 'Create' }).click();
    const secret = page.getByRole('dialog').getByText(/^ffk_/);
    await secret.waitFor();
    for (let i = 0; i < 4; i++) await page.keyboard.press('Escape');
    await page.waitForTimeout(300);
    expect(await secret.isVisible()).toBe(true);
    await close();
  }, 60_000);

  test('a form too large for the browser to keep says so, and no older content comes back in its place', async () => {
    const { page, close } = await open('/new-campaign');
    const large = Array.from({ length: 50 }, (_, at) => `person-${at}@example.com,${'x'.repeat(120_000)}`);
    const pasted = page.locator('textarea').first();
    await page.getByLabel('Name', { exact: true }).fill('Large');
    await pasted.fill('old@example.com');
    await pasted.fill(large.join('\n'));
    await page.getByText('This is too large for the browser to keep').waitFor();
    page.on('dialog', (dialog) => dialog.accept());
    await page.reload();
    expect(await value(page, 'Name')).toBe('Large');
    expect(await page.locator('textarea').first().inputValue()).toBe('');
    await close();
  }, 120_000);

  test('a template too large for the browser to keep is edited all the same', async () => {
    const body = `<p>${'x'.repeat(2_800_000)}</p>`;
    const made = await post('/api/template', {
      channel: 'email',
      templateName: 'Large',
      subject: 'Hi',
      body,
      emailProviderId: 'x',
      template: null,
    });
    const { page, close } = await open(`/templates/${made.template.id}`);
    const subject = page.getByLabel('Subject', { exact: true });
    await subject.fill('Hello');
    await page.getByText('This is too large for the browser to keep').waitFor();
    expect(await subject.inputValue()).toBe('Hello');
    await page.getByRole('button', { name: 'Save as new version' }).click();
    await page.getByText('Saved as version 2').first().waitFor();
    await close();
  }, 120_000);

  test('a number that the browser cannot read is refused, not left out', async () => {
    const { page, close } = await open('/new-campaign');
    const rate = page.getByLabel('At most, in recipients a second');
    await rate.pressSequentially('1e');
    let asked = 0;
    page.on('request', (request) => {
      if (request.url().includes('dry-run')) asked += 1;
    });
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.waitForTimeout(1000);
    expect(asked).toBe(0);
    await close();
  }, 60_000);

  test('an hour is edited by the clocks that are named beside it, and stays as it was when it is not touched', async () => {
    const startAt = '2027-07-01T13:00:30.000Z';
    const id = await draft('Hour', { schedule: { startAt, timezone: 'America/New_York' } });
    const { page, close } = await open(`/campaigns/${id}`, { timezoneId: 'Europe/Berlin' });
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('heading', { name: 'Edit Hour' }).waitFor();
    await page.getByText('By the clocks of America/New_York').waitFor();
    expect(await value(page, 'Date and time')).toBe('2027-07-01T09:00');
    await page.getByLabel('Name', { exact: true }).fill('Hour 2');
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('1 message would be sent.').waitFor();
    await page.getByRole('button', { name: 'Save as a draft' }).click();
    await page.getByRole('heading', { name: 'Hour 2', level: 1, exact: true }).waitFor();
    expect((await read(id)).schedule.startAt).toBe(startAt);
    await close();
  }, 60_000);

  test('the form names the version of a template that would be sent', async () => {
    const id = await draft('Versions');
    const { templateId } = (await read(id)).settings.sms;
    await api.call('PUT', `/api/template/${templateId}`, {
      ...ada,
      body: { channel: 'sms', templateName: 'Versions', body: 'Hello again {{NAME}}' },
    });
    const { page, close } = await open(`/campaigns/${id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('heading', { name: 'Edit Versions' }).waitFor();
    await page.waitForTimeout(1000);
    const chosen = page.getByLabel('SMS template').locator('option:checked');
    expect(await chosen.textContent()).toContain('version 1');
    await close();
  }, 60_000);

  test('a server that does not answer is asked once at a time', async () => {
    let asked = 0;
    const { page, close } = await open('/campaigns');
    await page.getByRole('heading', { name: 'Campaigns', level: 1 }).waitFor();
    await page.route('**/healthz', () => {
      asked += 1;
    });
    await page.route('**/api/**', (route) => route.abort());
    await until('it asks whether the server is back', async () => asked > 0, 60_000);
    await page.waitForTimeout(9_000);
    expect(asked).toBe(1);
    await close();
  }, 120_000);

  test('a page of one person does nothing in the workspace of another who signs in beside it', async () => {
    const { page, close } = await open('/suppression');
    await page.getByRole('button', { name: 'Add an address' }).click();
    await page.getByRole('textbox', { name: 'Address' }).fill('reader@example.org');
    await page.getByLabel('Reason').fill('asked by phone');
    const beside = await page.context().newPage();
    await signIn(beside, bob);
    await page.getByRole('dialog').getByRole('button', { name: 'Suppress', exact: true }).click();
    // The page is Bob's from then on.
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    await page.getByText(bob.user.email).waitFor();
    expect((await api.call('GET', '/api/suppression', bob)).body.data).toEqual([]);
    await close();
  }, 60_000);

  test('what one person has typed is not there for the next, also when the session has ended by itself', async () => {
    const { page, close } = await open('/new-campaign');
    await page.getByLabel('Name', { exact: true }).fill('Of Ada');
    await page.goto(`${api.url}/console/policy`);
    await page.getByLabel('Nothing goes out at certain hours').check();
    await page.context().clearCookies();
    await signIn(page, bob);
    await page.goto(`${api.url}/console/new-campaign`);
    const name = await value(page, 'Name');
    await page.goto(`${api.url}/console/policy`);
    const on = await page.getByLabel('Nothing goes out at certain hours').isChecked();
    expect({ name, on }).toEqual({ name: '', on: false });
    await close();
  }, 60_000);

  test('several kinds of events are typed one after the other', async () => {
    const { page, close } = await open('/webhooks');
    await page.getByRole('button', { name: 'New webhook' }).first().click();
    const others = page.getByRole('dialog').getByRole('textbox').nth(1);
    await others.pressSequentially('message.sent message.failed');
    expect(await others.inputValue()).toBe('message.sent message.failed');
    await close();
  }, 60_000);

  test('a pause between two words of a search does not join them', async () => {
    const { page, close } = await open('/campaigns');
    const search = page.getByLabel('Search');
    await search.pressSequentially('spring ');
    await page.waitForTimeout(800);
    await search.pressSequentially('sale', { delay: 50 });
    await page.waitForTimeout(800);
    expect(await search.inputValue()).toBe('spring sale');
    await close();
  }, 60_000);

  test('the dialog to stop all stays when the server is away for a moment', async () => {
    const { page, close } = await open('/');
    await page.getByRole('button', { name: 'Stop everything' }).click();
    await page.getByLabel('Reason').fill('wrong list');
    await page.route('**/api/stop', (route) => route.fulfill({ status: 503, json: { detail: 'away' } }));
    await page.waitForTimeout(12_000);
    expect(await page.getByLabel('Reason').count()).toBe(1);
    await close();
  }, 60_000);

  test('a webhook is made once, also when the answer to the first try is lost', async () => {
    const { page, close } = await open('/webhooks');
    let isLost = false;
    await page.route('**/api/webhook', async (route) => {
      if (route.request().method() !== 'POST' || isLost) return route.continue();
      isLost = true;
      await route.fetch();
      return route.abort();
    });
    await page.getByRole('button', { name: 'New webhook' }).first().click();
    await page.getByRole('textbox', { name: 'Address' }).fill('https://hooks.example.com/in');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'The secret of this webhook' }).waitFor();
    expect((await api.call('GET', '/api/webhook', ada)).body.data).toHaveLength(1);
    await close();
  }, 60_000);

  test('choosing no file closes no dialog', async () => {
    const { page, close } = await open('/suppression');
    await page.getByRole('button', { name: 'Import' }).click();
    const file = page.getByRole('dialog').locator('input[type=file]');
    await file.dispatchEvent('cancel', { bubbles: true });
    await page.waitForTimeout(300);
    expect(await file.count()).toBe(1);
    await close();
  }, 60_000);

  test('what is typed for one campaign is not there for another that the history leads to', async () => {
    const [one, two] = [await draft('One'), await draft('Two')];
    const { page, close } = await open(`/campaigns/${two}/settings`);
    await page.getByRole('link', { name: 'Campaigns' }).click();
    await page.getByRole('link', { name: 'One', exact: true }).click();
    await page.getByRole('heading', { name: 'One', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByLabel('Name', { exact: true }).fill('One, changed');
    await page.evaluate('history.go(-3)');
    await page.getByRole('heading', { name: 'Two', level: 1 }).waitFor();
    expect(page.url()).toContain(two);
    expect(await value(page, 'Name')).toBe('Two');
    expect(one).not.toBe(two);
    await close();
  }, 60_000);

  test('a code is typed as fast as one likes', async () => {
    const id = await draft('Codes');
    const { page, close } = await open(`/campaigns/${id}/recipients`);
    const code = page.getByLabel('Code', { exact: true });
    await code.pressSequentially('provider_timeout');
    await page.waitForTimeout(500);
    expect(await code.inputValue()).toBe('provider_timeout');
    await close();
  }, 60_000);

  test('signing out leads out also when the session has ended already', async () => {
    const { page, close } = await open('/new-campaign');
    await page.getByLabel('Name', { exact: true }).fill('Of Ada');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate('localStorage.getItem("fanfare.new-campaign")')).toBeNull();
    await close();
  }, 60_000);
});
