/** Proves that the console makes nothing twice after a lost answer, and undoes nothing that others did meanwhile. */

import type { Browser, Page } from 'playwright-core';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { startBrowser } from '../support/browser';
import { builtConsole } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

interface Route {
  toPrefix?: string;
}
interface Account {
  id: string;
  channels: string[];
}

describeWithDatabase('what the console sends beside others, or again', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let user: { email: string; password: string };
  let headers: Record<string, string>;
  let list: string;

  const ask = async (method: string, path: string, body?: unknown) =>
    (await api.call(method, path, { headers, ...(body === undefined ? {} : { body }) })).body;

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open(), { more: [builtConsole()] });
    const made = await newWorkspace(api.identity);
    user = made.user;
    headers = { authorization: await bearerFor(api.identity, made) };
    list = (await ask('POST', '/api/contact-list', { name: 'Readers' })).data.id;
    await ask('POST', `/api/contact-list/${list}/contacts`, {
      contacts: [{ name: 'Ada', phone: '+12025550143' }],
    });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  const open = (path: string, options = {}) => signedInAt(browser, api.url, user, path, options);
  const template = async (templateName: string): Promise<string> =>
    (await ask('POST', '/api/template', { channel: 'sms', templateName, body: 'Hello {{NAME}}' })).template
      .id;
  async function draft(name: string): Promise<string> {
    const settings = { sms: { shortCode: '12345', templateId: await template(name), version: 1 } };
    const body = { name, channel: ['sms'], start: false, contactListId: [list], settings };
    return (await ask('POST', '/api/campaign', body)).data.id;
  }
  const read = async (id: string) => (await ask('GET', `/api/campaign/${id}`)).data;
  const namesLike = async (search: string): Promise<string[]> =>
    (await ask('GET', `/api/campaign?page=1&limit=20&channel=all&search=${search}`)).data
      .map(({ name }: { name: string }) => name)
      .sort();
  const field = (page: Page, label: string) => page.getByLabel(label, { exact: true });
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();

  /** The first answer is lost: with the request, or only on the way back. */
  async function loseFirst(page: Page, path: string, arrives: boolean): Promise<(string | undefined)[]> {
    const keys: (string | undefined)[] = [];
    await page.route(path, async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      keys.push(route.request().headers()['idempotency-key']);
      if (keys.length > 1) return route.continue();
      if (arrives) await route.fetch();
      return route.abort();
    });
    return keys;
  }

  async function fillIn(page: Page, name: string): Promise<void> {
    const id = await template(name);
    await page.reload();
    await field(page, 'Name').fill(name);
    await page.getByLabel(/^Readers/).check();
    await page.getByRole('checkbox', { name: 'SMS' }).check();
    await page.getByRole('checkbox', { name: 'Email' }).uncheck();
    await page.getByLabel('Number or name of the sender').fill('12345');
    await page.getByLabel('SMS template').selectOption(id);
  }
  async function checkAndStart(page: Page): Promise<void> {
    await press(page, 'Dry run');
    await page.getByText('1 message would be sent.').waitFor();
    await press(page, 'Start');
  }

  test('a start whose answer was lost is found when the form was changed meanwhile, or changed back', async () => {
    const { page, close } = await open('/new-campaign');
    await fillIn(page, 'Lost');
    await loseFirst(page, '**/api/campaign', true);
    await checkAndStart(page);
    await page.getByText('The server could not be reached').first().waitFor();
    await field(page, 'Name').fill('Lost, changed');
    await page.reload();
    await checkAndStart(page);
    await page.getByRole('alert', { name: 'Made before' }).waitFor();
    expect(await namesLike('Lost')).toEqual(['Lost']);
    await page.getByRole('link', { name: 'See the newest campaigns' }).click();
    await page.getByRole('link', { name: 'Lost', exact: true }).waitFor();

    await page.goto(`${api.url}/console/new-campaign`);
    expect(await field(page, 'Name').inputValue()).toBe('Lost, changed');
    await field(page, 'Name').fill('Lost');
    await checkAndStart(page);
    await page.getByRole('heading', { name: 'Lost', level: 1, exact: true }).waitFor();
    expect(await namesLike('Lost')).toEqual(['Lost']);
    await close();
  }, 120_000);

  test('a second campaign besides the one whose answer was lost is made when the person says so', async () => {
    const { page, close } = await open('/new-campaign');
    await fillIn(page, 'Both');
    await loseFirst(page, '**/api/campaign', true);
    await checkAndStart(page);
    await page.getByText('The server could not be reached').first().waitFor();
    await field(page, 'Name').fill('Both, second');
    await checkAndStart(page);
    await press(page, 'Make this one as well');
    await page.getByRole('heading', { name: 'Both, second', level: 1, exact: true }).waitFor();
    expect(await namesLike('Both')).toEqual(['Both', 'Both, second']);
    await close();
  }, 120_000);

  test('a start that never reached the server stands in the way of nothing', async () => {
    const { page, close } = await open('/new-campaign');
    await fillIn(page, 'Never');
    await loseFirst(page, '**/api/campaign', false);
    await checkAndStart(page);
    await page.getByText('The server could not be reached').first().waitFor();
    await field(page, 'Name').fill('Never, changed');
    await checkAndStart(page);
    await page.getByRole('heading', { name: 'Never, changed', level: 1, exact: true }).waitFor();
    expect(await namesLike('Never')).toEqual(['Never, changed']);
    await close();
  }, 120_000);

  test('a template that was deleted meanwhile is shown as such, because it would still be sent', async () => {
    const { page, close } = await open('/new-campaign');
    await fillIn(page, 'Deleted');
    const select = page.getByLabel('SMS template');
    const id = await select.inputValue();
    await ask('DELETE', `/api/template/${id}`);
    await page.reload();
    await page.getByText('This template was deleted, and would still be sent.').waitFor();
    expect(await select.inputValue()).toBe(id);
    await press(page, 'Empty the form');
    await close();
  }, 60_000);

  test('recipients are sent to again once, also when the answer to the first press is lost', async () => {
    const id = await draft('Again');
    const { page, close } = await open('/');
    await page.route(`**/api/campaign/${id}`, async (route) => {
      const answered = await route.fetch();
      const { data, ...rest } = await answered.json();
      const counts = { sms: { ...data.counts.sms, failed: 1 } };
      return route.fulfill({
        response: answered,
        json: { ...rest, data: { ...data, phase: 'completed', counts } },
      });
    });
    const keys: (string | undefined)[] = [];
    await page.route('**/retry-failed', (route) => {
      keys.push(route.request().headers()['idempotency-key']);
      return keys.length < 4
        ? route.abort()
        : route.fulfill({ json: { result: 'success', status: 200, data: { retried: { sms: 1 } } } });
    });
    const dialog = page.getByRole('dialog');
    const send = async () => {
      const before = keys.length;
      await dialog.getByRole('button', { name: 'Send again' }).click();
      await until('it is asked for', async () => keys.length > before, 10_000);
    };
    const again = 'Send again to those who failed';
    await page.goto(`${api.url}/console/campaigns/${id}`);
    await press(page, again);
    await send();
    await dialog.getByRole('alert').waitFor();
    await send();
    // The dialog was closed meanwhile, and the page read anew.
    await dialog.getByRole('alert').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await press(page, again);
    await send();
    await page.reload();
    await press(page, again);
    await send();
    await dialog.waitFor({ state: 'hidden' });
    expect(keys).toEqual(Array(4).fill(expect.stringMatching(/^console-/)));
    expect(new Set(keys).size).toBe(1);
    // An answer ends it: what is asked for now concerns those who failed again.
    await press(page, again);
    await send();
    expect(keys[4]).not.toBe(keys[0]);
    // Reading that is under way would be answered after the page is gone.
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await close();
  }, 60_000);

  test('routes that are being typed stay when another owner saves, and replace theirs only when that was seen', async () => {
    const { page, close } = await open('/carriers?view=routes');
    const here = async (method: string, path: string, body?: unknown) =>
      page.evaluate<{ data: { routes: Route[] } & Account[] }>(
        `fetch('${path}', { method: '${method}', headers: { 'content-type': 'application/json' }, body: ${body ? `'${JSON.stringify(body)}'` : 'null'} }).then((answer) => answer.json())`,
      );
    const put = async (toPrefix: string) => {
      const { data } = await here('GET', '/api/admin/accounts');
      const account = data.find(({ channels }) => channels.includes('sms'))?.id;
      await here('PUT', '/api/admin/routes', {
        routes: [{ channel: 'sms', toPrefix, accounts: [{ account }] }],
      });
    };
    const saved = async () => (await here('GET', '/api/admin/routes')).data.routes[0]?.toPrefix;
    await put('+49');
    await page.reload();
    const prefix = page.getByLabel('Numbers that begin with');
    await prefix.fill('+44');
    await put('+33');
    await press(page, 'Save routes');
    await page.getByRole('alert', { name: 'Changed by another person meanwhile' }).waitFor();
    expect(await prefix.inputValue()).toBe('+44');
    expect(await saved()).toBe('+33');
    await press(page, 'Go on with mine');
    await press(page, 'Save routes');
    await page.getByText('The routes are in force').waitFor();
    expect(await saved()).toBe('+44');
    await close();
  }, 60_000);

  test('a change of the name leaves alone the tags that another person has set meanwhile', async () => {
    const id = await draft('Tagged');
    const { page, close } = await open(`/campaigns/${id}/settings`);
    await field(page, 'Name').fill('Tagged, renamed');
    await ask('PATCH', `/api/campaign/${id}`, { tags: ['spring'] });
    await press(page, 'Save');
    await page.getByRole('heading', { name: 'Tagged, renamed', level: 1 }).waitFor();
    expect(await read(id)).toMatchObject({ name: 'Tagged, renamed', tags: ['spring'] });
    await close();
  }, 60_000);

  test('a campaign is found by the day that the list shows for it', async () => {
    const id = await draft('Of the day');
    // At least one of the two shows another day than UTC, whatever the hour is.
    for (const timezoneId of ['Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
      const { page, close } = await open('/campaigns', { timezoneId });
      const { createdAt } = await read(id);
      const day = new Intl.DateTimeFormat('sv', { timeZone: timezoneId }).format(new Date(createdAt));
      await page.goto(`${api.url}/console/campaigns?from=${day}&to=${day}`);
      await page.getByRole('link', { name: 'Of the day' }).waitFor();
      await close();
    }
  }, 60_000);

  test('what is typed on one page is there after its reload, whatever is typed on another', async () => {
    const { page, close } = await open('/new-campaign');
    await field(page, 'Name').fill('First');
    const beside = await page.context().newPage();
    await beside.goto(`${api.url}/console/new-campaign`);
    await field(beside, 'Name').fill('Second');
    await page.reload();
    const first = await field(page, 'Name').inputValue();
    await press(beside, 'Empty the form');
    await page.reload();
    const still = await field(page, 'Name').inputValue();
    await beside.reload();
    expect({ first, still, beside: await field(beside, 'Name').inputValue() }).toEqual({
      ...{ first: 'First', still: 'First', beside: '' },
    });
    await close();
  }, 60_000);
});
