import type { Browser } from 'playwright-core';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { openPage, startBrowser, violationsOf } from '../support/browser';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

describeWithDatabase('the pages about the API, in a browser', (database) => {
  let browser: Browser;
  let api: WholeApi;

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open());
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  test('the reference shows every call, without an error and without asking another host', async () => {
    const { page, requests, complaints, close } = await openPage(browser);
    await page.goto(`${api.url}/docs`);
    // Calls are folded away under their tags.
    await page.locator('.opblock-tag').first().waitFor();
    for (const tag of await page.locator('.opblock-tag').all()) await tag.click();
    const { body } = await api.call('GET', '/openapi.json');
    const calls = Object.values(body.paths as Record<string, object>).flatMap((path) =>
      Object.keys(path).filter((key) => /^(get|post|put|patch|delete)$/.test(key)),
    );
    await until('all are shown', async () => (await page.locator('.opblock').count()) === calls.length);

    await page.locator('.opblock', { hasText: '/send-msg' }).first().click();
    await page.locator('.opblock-body').first().waitFor();
    expect(await page.locator('.opblock-body').first().textContent()).toContain('Responses');
    expect(requests.filter((url) => !url.startsWith(api.url) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });

  test('a link to one call opens that call', async () => {
    const { page, complaints, close } = await openPage(browser);
    await page.goto(`${api.url}/docs#/Suppression/unsubscribeByLink`);
    await page.locator('.opblock.is-open').waitFor();
    expect(await page.locator('.opblock.is-open').textContent()).toContain('/u/{token}');
    expect(complaints).toEqual([]);
    await close();
  });

  test('the list of errors is accessible, and loads nothing from another server', async () => {
    const { page, requests, complaints, close } = await openPage(browser);
    await page.goto(`${api.url}/docs/errors`);
    expect(await violationsOf(page)).toEqual([]);
    expect(requests.filter((url) => !url.startsWith(api.url) && !url.startsWith('data:'))).toEqual([]);
    expect(complaints).toEqual([]);
    await close();
  });
});
