import type { Browser } from 'playwright-core';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { openPage, startBrowser } from '../support/browser';
import { builtConsole, faultsOf, LOOKS, signedIn } from '../support/console';
import { describeWithDatabase } from '../support/storage';

/** Script and style of the first load, as they go over the wire (docs/console.md). */
const FIRST_LOAD_MAX = 200_000;

describeWithDatabase('the console, in a browser', (database) => {
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

  test.each(LOOKS)('the form to sign in and the shell are accessible: $name', async ({ options }) => {
    const before = await openPage(browser, options);
    await before.page.goto(`${api.url}/console/`);
    await before.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await faultsOf(before)).toEqual([]);
    expect(before.complaints).toEqual([]);
    await before.close();

    const after = await signedIn(browser, api.url, user, options);
    await after.page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    expect(await faultsOf(after)).toEqual([]);
    expect(after.complaints).toEqual([]);
    await after.close();
  });

  test('a wrong password is answered in the form, and nothing typed is lost', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`${api.url}/console/`);
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('Email or password is wrong').waitFor();
    expect(await page.getByLabel('Email').inputValue()).toBe(user.email);
    await close();
  });

  test('the first load is small, compressed, and asks no other host', async () => {
    const { page, requests, close } = await openPage(browser);
    const sizes: number[] = [];
    page.on('response', async (response) => {
      if (!/\.(js|css)$/.test(response.url())) return;
      expect(await response.headerValue('content-encoding')).toMatch(/^(br|gzip)$/);
      sizes.push(Number(await response.headerValue('content-length')));
    });
    const answer = await page.goto(`${api.url}/console/`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(sizes.length).toBeGreaterThan(1);
    expect(sizes.reduce((sum, one) => sum + one, 0)).toBeLessThan(FIRST_LOAD_MAX);
    expect(requests.filter((url) => !url.startsWith(`${api.url}/`))).toEqual([]);
    expect(await answer?.headerValue('content-security-policy')).not.toContain('unsafe-');
    await close();
  });

  test('an address opens directly, after signing in', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`${api.url}/console/templates`);
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/console/templates');
    await close();
  });

  test('by keyboard alone: the content is one key away, and each page begins at its heading', async () => {
    const { page, close } = await signedIn(browser, api.url, user);
    await page.reload();
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.locator(':focus').textContent()).toBe('Skip to content');
    await page.getByRole('link', { name: 'Templates' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Templates', level: 1 }).waitFor();
    expect(await page.locator(':focus').textContent()).toBe('Templates');
    await close();
  });

  test('signing out leads to the form, and what was open asks to sign in again and back', async () => {
    const { page, close } = await signedIn(browser, api.url, user);
    await page.getByRole('link', { name: 'Contacts' }).click();
    await page.getByRole('heading', { name: 'Contacts', level: 1 }).waitFor();
    const other = await page.context().newPage();
    await other.goto(`${api.url}/console/`);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('Email').fill(user.email);
    await page.getByLabel('Password').fill(user.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Contacts', level: 1 }).waitFor();
    await close();
  });

  test('the chosen appearance is kept', async () => {
    const { page, close } = await signedIn(browser, api.url, user, { colorScheme: 'light' });
    await page.getByLabel('Appearance').selectOption('Dark');
    await page.reload();
    await page.getByLabel('Appearance').waitFor();
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(18, 22, 28)');
    await close();
  });
});
