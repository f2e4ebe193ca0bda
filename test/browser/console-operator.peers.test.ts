/** Proves that an operator sees when a campaign goes, what it would send and how to stop it, without knowing ids. */

import type { Browser } from 'playwright-core';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { startBrowser } from '../support/browser';
import { builtConsole } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

describeWithDatabase('what the console shows an operator', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let user: { email: string; password: string };
  let headers: Record<string, string>;
  let list: string;
  let template: string;
  const startAt = new Date(Date.now() + 86_400_000).toISOString();

  const ask = async (method: string, path: string, body?: unknown) =>
    (await api.call(method, path, { headers, ...(body === undefined ? {} : { body }) })).body;

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open(), { more: [builtConsole()] });
    const made = await newWorkspace(api.identity);
    user = made.user;
    headers = { authorization: await bearerFor(api.identity, made) };
    list = (await ask('POST', '/api/contact-list', { name: 'Readers' })).data.id;
    const contacts = [{ name: 'Ada', phone: '+12025550143' }];
    await ask('POST', `/api/contact-list/${list}/contacts`, { contacts });
    const content = { channel: 'sms', templateName: 'Sale text', body: 'Hello {{NAME}}' };
    template = (await ask('POST', '/api/template', content)).template.id;
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  const open = (path: string, options = {}) => signedInAt(browser, api.url, user, path, options);
  async function campaign(name: string, more: object = {}): Promise<string> {
    const settings = { sms: { shortCode: '12345', templateId: template, version: 1 } };
    const body = { name, channel: ['sms'], contactListId: [list], settings, ...more };
    return (await ask('POST', '/api/campaign', body)).data.id;
  }
  const read = async (id: string) => (await ask('GET', `/api/campaign/${id}`)).data;

  test('a scheduled campaign says when it starts, and draws no empty plot', async () => {
    const id = await campaign('Tomorrow', { schedule: { startAt } });
    const { page, close } = await open(`/campaigns/${id}`);
    const starts = page.locator('.tiles div', { hasText: 'Starts' });
    expect(await starts.locator('time').getAttribute('datetime')).toBe(startAt);
    await page.getByText('Nothing has happened yet.').waitFor();
    expect(await page.locator('.plot').count()).toBe(0);
    await close();
  }, 120_000);

  test('starting a draft that has an hour is said to wait for it', async () => {
    const id = await campaign('Planned', { schedule: { startAt }, start: false });
    const { page, close } = await open(`/campaigns/${id}`);
    await page.getByRole('button', { name: 'Start', exact: true }).waitFor();
    expect(await page.locator('.control').first().textContent()).toContain('It waits until its time');
    await close();
  }, 120_000);

  test('a scheduled campaign is edited until it starts, and stays scheduled', async () => {
    const id = await campaign('Next weak', { schedule: { startAt } });
    const { page, close } = await open(`/campaigns/${id}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByRole('heading', { name: 'Edit Next weak' }).waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Next week');
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { name: 'Next week', exact: true }).waitFor();
    expect(await read(id)).toMatchObject({ name: 'Next week', phase: 'scheduled', schedule: { startAt } });
    await close();
  }, 120_000);

  test('one that was paused before its hour is edited too, and resumed by starting it', async () => {
    const id = await campaign('Next moth', { schedule: { startAt } });
    await ask('POST', `/api/campaign/${id}/pause`, {});
    const { page, close } = await open(`/campaigns/${id}`);
    await page.getByText('Starting it from there resumes it.').waitFor();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Next month');
    await page.getByRole('button', { name: 'Dry run' }).click();
    expect(await page.getByText('Started by another person meanwhile').count()).toBe(0);
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('heading', { name: 'Next month', exact: true }).waitFor();
    expect(await read(id)).toMatchObject({ name: 'Next month', phase: 'scheduled', schedule: { startAt } });
    await close();
  }, 120_000);

  test('settings name templates and lists, lead to them, and say the schedule in words', async () => {
    const schedule = { cron: '0 9 * * 1', timezone: 'Europe/Berlin' };
    const id = await campaign('Every Monday', { schedule });
    const { page, close } = await open(`/campaigns/${id}/settings`);
    const facts = page.getByRole('region', { name: 'Settings' });
    await facts.getByText('0 9 * * 1, by the clocks of Europe/Berlin').waitFor();
    const leadsTo = (name: string) => facts.getByRole('link', { name }).getAttribute('href');
    expect(await leadsTo('Readers')).toBe(`/console/contacts/lists/${list}`);
    expect(await leadsTo('Sale text')).toBe(`/console/templates/${template}`);
    await close();
  }, 120_000);

  test('everything can be stopped without scrolling, however much runs', async () => {
    for (let i = 0; i < 9; i++) await campaign(`Runs ${i}`, { schedule: { startAt } });
    const { page, close } = await open('/', { viewport: { width: 375, height: 700 } });
    await page.getByRole('link', { name: 'Runs 8' }).waitFor();
    const stop = page.getByRole('button', { name: 'Stop everything' });
    await until(
      'the button is on the screen',
      async () => {
        const box = await stop.boundingBox();
        return box !== null && box.y + box.height < 700;
      },
      5_000,
    );
    await close();
  }, 120_000);

  test('a refused dry run says at each field, and by the number of the row, what is wrong', async () => {
    const { page, close } = await open('/new-campaign');
    await page.getByLabel('Recipients of this campaign alone').fill('ok@example.com\n+49');
    await page.getByRole('button', { name: 'Dry run' }).click();
    const said = (label: string) =>
      page
        .locator('.field')
        .filter({ has: page.getByLabel(label, { exact: true }) })
        .locator('.wrong');
    expect(await said('Email template').textContent()).toBe('Choose a template');
    expect(await said('From').textContent()).toContain('must be an email address');
    expect(await said('Recipients of this campaign alone').textContent()).toMatch(/^Row 2, phone: /);
    await close();
  }, 120_000);

  test('the long name of a list is read to its end where lists are chosen', async () => {
    await ask('POST', '/api/contact-list', { name: `${'Readers of '.repeat(8)}${'x'.repeat(90)}` });
    const { page, close } = await open('/new-campaign');
    const choice = page.locator('.choice', { hasText: 'Readers of Readers' });
    expect(await choice.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    await close();
  }, 120_000);

  test('who approves sees when it goes, and is led to what it says', async () => {
    await ask('PUT', '/api/policy', { approval: { above: 0 } });
    const id = await campaign('For two', { schedule: { startAt } });
    const { page, close } = await open(`/campaigns/${id}`);
    await page.getByRole('button', { name: 'Approve and send' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator(`a[href="/console/templates/${template}"]`).waitFor();
    expect(await dialog.locator('.facts time').getAttribute('datetime')).toBe(startAt);
    await close();
  }, 120_000);
});
