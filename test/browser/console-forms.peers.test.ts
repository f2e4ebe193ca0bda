/** Proves that forms of the console lose nothing that was typed, and find what is one of many. */

import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { startBrowser } from '../support/browser';
import { builtConsole, faultsOf } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

const LISTS = 130;

describeWithDatabase('forms in the console', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let user: { email: string; password: string };
  let viewer: { email: string; password: string };
  let second: { email: string; password: string };
  let headers: Record<string, string>;
  let list: string;

  const post = async (path: string, body: unknown) => (await api.call('POST', path, { headers, body })).body;

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open(), { more: [builtConsole()] });
    const owner = await newWorkspace(api.identity);
    user = owner.user;
    headers = { authorization: await bearerFor(api.identity, owner) };
    const by = { workspaceId: owner.workspace.id, role: 'owner' as const };
    const email = 'viewer@forms.example';
    viewer = { email, password: (await api.identity.users.create(by, { email, role: 'viewer' })).password };
    const another = 'second@forms.example';
    const made = await api.identity.users.create(by, { email: another, role: 'sender' });
    second = { email: another, password: made.password };
    // The oldest ones are not on the first page of any list.
    list = (await post('/api/contact-list', { name: 'Harbour readers' })).data.id;
    await post(`/api/contact-list/${list}/contacts`, { contacts: [{ name: 'Ada', phone: '+12025550143' }] });
    await template('Harbour reminder');
    for (let i = 0; i < LISTS; i++) {
      await post('/api/contact-list', { name: `List ${i}` });
      await template(`Template ${i}`);
    }
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  const template = async (templateName: string): Promise<string> =>
    (await post('/api/template', { channel: 'sms', templateName, body: 'Hello {{NAME}}' })).template.id;
  const open = (path: string, as = user) => signedInAt(browser, api.url, as, path);
  const value = (page: Page, label: string) => page.getByLabel(label, { exact: true }).inputValue();

  async function fillCampaign(page: Page): Promise<void> {
    await page.getByLabel('Name', { exact: true }).fill('Harbour sale');
    await page.getByLabel('Search lists').fill('harbour');
    await page.getByRole('checkbox', { name: 'Harbour readers' }).check();
    await page.getByLabel('Search lists').fill('List 12');
    await page.getByRole('checkbox', { name: 'List 129' }).waitFor();
    // What is chosen stays to be seen.
    expect(await page.getByRole('checkbox', { name: 'Harbour readers' }).isChecked()).toBe(true);
    await page.getByRole('checkbox', { name: 'SMS' }).check();
    await page.getByRole('checkbox', { name: 'Email' }).uncheck();
    await page.getByLabel('Number or name of the sender').fill('12345');
    await page.getByLabel('Search templates: SMS').fill('harbour');
    await page.getByRole('option', { name: 'Harbour reminder (version 1)' }).waitFor({ state: 'attached' });
    await page.getByLabel('SMS template').selectOption({ label: 'Harbour reminder (version 1)' });
    await page.getByText('Tries after a failure').click();
    await page.getByLabel('Tries for one message, at most').fill('4');
  }

  test('a list and a template among many are found, a draft is saved, and is edited by clicking', async () => {
    const { page, complaints, close } = await open('/new-campaign');
    await fillCampaign(page);
    await page.reload();
    await page.getByRole('checkbox', { name: 'Harbour readers' }).waitFor();
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('1 message would be sent.').waitFor();
    await page.getByText('How long sending takes is not known before').waitFor();
    await page.getByRole('button', { name: 'Save as a draft' }).click();
    await page.getByRole('heading', { name: 'Harbour sale', level: 1 }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const read = async () => (await api.call('GET', `/api/campaign/${id}`, { headers })).body.data;
    expect(await read()).toMatchObject({ phase: 'draft', delivery: { retry: { maxAttempts: 4 } } });

    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('heading', { name: 'Edit Harbour sale' }).waitFor();
    expect(await page.getByRole('checkbox', { name: 'Harbour readers' }).isChecked()).toBe(true);
    await page.getByLabel('Name', { exact: true }).fill('Harbour sale, again');
    await page.getByLabel('At most, in recipients a second').fill('5');
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('Sending takes about 1 second;').waitFor();
    await page.getByRole('button', { name: 'Save as a draft' }).click();
    await page.getByRole('heading', { name: 'Harbour sale, again', level: 1, exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console/campaigns/${id}`);
    expect(await read()).toMatchObject({
      ...{ name: 'Harbour sale, again', phase: 'draft', contactListId: [list] },
      delivery: { ratePerSecond: 5, retry: { maxAttempts: 4 } },
    });
    expect(complaints).toEqual([]);
    await close();
  }, 180_000);

  test('a campaign is not lost when the server is away while it is checked', async () => {
    const { page, close } = await open('/new-campaign');
    await fillCampaign(page);
    await page.route('**/dry-run*', (route) => route.abort());
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByRole('alert').getByText('could not be reached').waitFor();
    await page.unrouteAll();
    await page.reload();
    expect(await value(page, 'Name')).toBe('Harbour sale');
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('1 message would be sent.').waitFor();
    await close();
  }, 180_000);

  test('what is typed into a template outlives the save of another person, which is shown', async () => {
    const id = await template('Both write');
    const one = await open(`/templates/${id}`);
    const { page } = one;
    const text = page.getByLabel('Text', { exact: true });
    await text.fill('Hello {{NAME}}, from me');
    const body = { channel: 'sms', templateName: 'Both write', body: 'Hello {{NAME}}, from another' };
    await api.call('PUT', `/api/template/${id}`, { headers, body });
    await page.getByRole('button', { name: 'Save as new version' }).click();
    const conflict = page.getByRole('alert').filter({ hasText: 'Changed by another person' });
    await conflict.getByText('Added: Hello {{NAME}}, from another').waitFor();
    expect(await text.inputValue()).toBe('Hello {{NAME}}, from me');
    expect(await faultsOf(one)).toEqual([]);
    await page.reload();
    await conflict.waitFor();
    await page.getByRole('button', { name: 'Go on with mine' }).click();
    await page.getByRole('button', { name: 'Save as new version' }).click();
    await page.getByText('Saved as version 3').first().waitFor();
    expect((await api.call('GET', `/api/template/${id}`, { headers })).body.data.body).toBe(
      'Hello {{NAME}}, from me',
    );
    await one.close();
  }, 120_000);

  /** A draft that is open in the form of one person, with a name that is typed and not saved. */
  async function edited(name: string) {
    const body = {
      ...{ name, channel: ['sms'], start: false, contactListId: [list] },
      settings: { sms: { shortCode: '12345', templateId: await template(name), version: 1 } },
    };
    const { id } = (await post('/api/campaign', body)).data;
    const one = await open(`/campaigns/${id}`);
    await one.page.getByRole('button', { name: 'Edit' }).click();
    await one.page.getByRole('heading', { name: `Edit ${name}` }).waitFor();
    await one.page.getByLabel('Name', { exact: true }).fill(`${name}, mine`);
    const read = async (of = id) => (await api.call('GET', `/api/campaign/${of}`, { headers })).body.data;
    return { ...one, one, id, body, read };
  }

  test('what is typed into a campaign outlives the edit of another person, which is shown before anything is saved', async () => {
    const { one, page, id, body, read, close } = await edited('Both edit');
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('1 message would be sent.').waitFor();
    await post('/api/campaign', { ...body, campaignId: id, delivery: { ratePerSecond: 7 } });
    await page.getByRole('button', { name: 'Start' }).click();
    const conflict = page.getByRole('alert').filter({ hasText: 'Changed by another person' });
    await conflict.getByText('Added: delivery.ratePerSecond: 7').waitFor();
    expect(await value(page, 'Name')).toBe('Both edit, mine');
    expect(await read()).toMatchObject({ name: 'Both edit', phase: 'draft' });
    expect(await faultsOf(one)).toEqual([]);
    await page.reload();
    await conflict.getByRole('button', { name: 'Go on with mine' }).click();
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByRole('button', { name: 'Save as a draft' }).click();
    await page.getByRole('heading', { name: 'Both edit, mine', level: 1, exact: true }).waitFor();
    const kept = await read();
    expect(kept).toMatchObject({ name: 'Both edit, mine', phase: 'draft' });
    expect(kept.delivery?.ratePerSecond).toBeUndefined();
    await close();
  }, 120_000);

  test('what is typed into a campaign that another person starts is kept, and goes on in a copy', async () => {
    const { one, page, id, read, close } = await edited('Begun');
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByText('1 message would be sent.').waitFor();
    await post(`/api/campaign/${id}/start`, {});
    await page.getByRole('button', { name: 'Save as a draft' }).click();
    const conflict = page.getByRole('alert').filter({ hasText: 'Started by another person' });
    await conflict.getByText('Removed: Phase: Draft').waitFor();
    expect(await value(page, 'Name')).toBe('Begun, mine');
    expect(await faultsOf(one)).toEqual([]);
    await conflict.getByRole('button', { name: 'Go on in a copy' }).click();
    await conflict.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByRole('button', { name: 'Save as a draft' }).click();
    await page.getByRole('heading', { name: 'Begun, mine', level: 1, exact: true }).waitFor();
    const copy = new URL(page.url()).pathname.split('/').at(-1);
    expect(copy).not.toBe(id);
    expect(await read(copy)).toMatchObject({ name: 'Begun, mine', phase: 'draft' });
    expect((await read()).name).toBe('Begun');
    await close();
  }, 120_000);

  test('what is typed into the policy outlives a reload, a refusal, and the save of another person', async () => {
    const one = await open('/policy');
    const { page } = one;
    await page.getByLabel('Nothing goes out at certain hours').check();
    await page.getByLabel('From', { exact: true }).fill('20:15');
    await page.reload();
    expect(await value(page, 'From')).toBe('20:15');
    await page.route('**/api/policy', (route) =>
      route.request().method() === 'PUT' ? route.abort() : route.continue(),
    );
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByRole('alert').getByText('could not be reached').waitFor();
    await page.unrouteAll();
    expect(await value(page, 'From')).toBe('20:15');
    await api.call('PUT', '/api/policy', {
      headers,
      body: { quietHours: { from: '22:00', to: '07:00', timezone: 'recipient' } },
    });
    await page.getByRole('button', { name: 'Save policy' }).click();
    const conflict = page.getByRole('alert').filter({ hasText: 'Changed by another person' });
    await conflict.getByText('22:00–07:00').waitFor();
    expect(await faultsOf(one)).toEqual([]);
    await conflict.getByRole('button', { name: 'Take theirs' }).click();
    expect(await value(page, 'From')).toBe('22:00');
    await one.close();
  }, 120_000);

  test('a viewer reads templates and the policy, is told why nothing can be changed, and can type nowhere', async () => {
    const id = await template('To be read');
    for (const path of [`/templates/${id}`, '/policy']) {
      const one = await open(path, viewer);
      const { page } = one;
      await page.getByText('your role is viewer, and this needs').waitFor();
      const typed = page.locator(
        'main .input:not([readonly]):not([disabled]), main [type=checkbox]:not([disabled])',
      );
      // Sample values of placeholders are for the preview alone.
      const labels = await typed.evaluateAll((all) =>
        all.map((one) => (one as unknown as { labels: { textContent: string }[] }).labels[0]?.textContent),
      );
      expect({ path, labels }).toEqual({ path, labels: path === '/policy' ? [] : ['NAME'] });
      expect(await faultsOf(one)).toEqual([]);
      await one.close();
    }
  }, 120_000);

  test('a draft that is too large for one person is approved by another, who sees what would go', async () => {
    const rule = (approval: unknown) =>
      api.call('PUT', '/api/policy', { headers, body: approval ? { approval } : {} });
    await rule({ above: 0 });
    const body = {
      ...{ name: 'Needs two', channel: ['sms'], contactListId: [list] },
      settings: { sms: { shortCode: '12345', templateId: await template('Needs two'), version: 1 } },
    };
    const { id } = (await post('/api/campaign', body)).data;
    // Not at the limit, only beyond it.
    await rule({ above: 1 });
    const one = await open(`/campaigns/${id}`, second);
    const counted = one.page.waitForResponse(/\/digest$/);
    await one.page.reload();
    await counted;
    await one.page.getByRole('button', { name: 'Start' }).waitFor();
    expect(await one.page.getByRole('button', { name: 'Approve and send' }).count()).toBe(0);
    // The page still offers Start when the rule has become stricter meanwhile; the refusal leads to the approval.
    await rule({ above: 0 });
    await one.page.getByRole('button', { name: 'Start' }).click();
    const dialog = one.page.getByRole('dialog');
    await dialog.getByText('Digest').waitFor();
    expect(await faultsOf(one)).toEqual([]);
    await one.page.keyboard.press('Escape');
    await one.page.reload();
    await one.page.getByRole('button', { name: 'Approve and send' }).click();
    expect(await one.page.getByRole('button', { name: 'Start' }).count()).toBe(0);
    await dialog.getByRole('button', { name: 'Approve and send' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { data } = (await api.call('GET', `/api/campaign/${id}`, { headers })).body;
    expect(data).toMatchObject({ approval: { contacts: 1 } });
    expect(data.phase).not.toBe('draft');
    await rule(undefined);
    await one.close();
  }, 120_000);

  test('the table of recipients reaches its last row at 800,000, and its export takes the search', async () => {
    const { data } = await post('/api/campaign', {
      ...{ name: 'Long', channel: ['sms'], start: false, contactListId: [list] },
      settings: { sms: { shortCode: '12345', templateId: await template('Long'), version: 1 } },
    });
    const { page, close } = await open('/account');
    const [pages, size] = [8, 100_000];
    await page.route(/\/recipients\?/, (route) => {
      const at = Number(new URL(route.request().url()).searchParams.get('cursor') ?? 0);
      const rows = Array.from({ length: size }, (_, i) => ({
        ...{ id: `r${at * size + i}`, contactId: 'c', channel: 'sms', address: `row ${at * size + i}` },
        ...{ state: 'sent', outcome: null, code: null, attempts: 1, uid: 'u', dueAt: null },
        updatedAt: '2026-01-01T00:00:00.000Z',
      }));
      const next = at + 1 < pages ? String(at + 1) : null;
      return route.fulfill({ json: { result: 'success', status: 200, message: '', data: rows, next } });
    });
    await page.goto(`${api.url}/console/campaigns/${data.id}/recipients`);
    await page.locator('.people-space .people-row').first().waitFor();
    const last = `row ${pages * size - 1}`;
    const shown = page.getByRole('link', { name: last, exact: true });
    const condition = async () => {
      await page.evaluate('document.querySelector(".people-scroll").scrollTop = 1e9');
      return shown.isVisible();
    };
    await until('the last row is shown', condition, 150_000);
    await page.evaluate('document.querySelector(".people-scroll").scrollTop = 0');
    await page.getByRole('link', { name: 'row 0', exact: true }).waitFor();
    await page.unrouteAll();

    await page.route(/recipients\.csv/, (route) =>
      route.fulfill({ contentType: 'text/csv', body: new URL(route.request().url()).search }),
    );
    await page.goto(`${api.url}/console/campaigns/${data.id}/recipients?search=ada&state=failed`);
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export recipients as CSV' }).click(),
    ]);
    expect(readFileSync(await saved.path(), 'utf8')).toContain('search=ada');
    await close();
  }, 240_000);
});
