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
    await page.locator('.opblock-tag').first().waitFor();
    const { body } = await api.call('GET', '/openapi.json');
    const calls = Object.values(body.paths as Record<string, Record<string, { tags: string[] }>>).flatMap(
      (path) =>
        Object.entries(path)
          .filter(([key]) => /^(get|post|put|patch|delete)$/.test(key))
          .map(([, call]) => call.tags[0]),
    );
    // Calls are folded away under their tags; with many open at once the page keeps only those in sight.
    for (const tag of new Set(calls)) {
      const fold = page.locator(`.opblock-tag[data-tag="${tag}"]`);
      await fold.click();
      const expected = calls.filter((one) => one === tag).length;
      await until(`${tag} is shown`, async () => (await page.locator('.opblock').count()) === expected);
      await fold.click();
      await until(`${tag} is folded`, async () => (await page.locator('.opblock').count()) === 0);
    }

    await page.locator('.opblock-tag[data-tag="Sending"]').click();
    await page.locator('.opblock', { hasText: '/send-msg' }).first().click();
    // The body is there before what it says.
    await page.locator('.opblock-body', { hasText: 'Responses' }).first().waitFor();
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
