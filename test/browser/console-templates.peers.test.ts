/** Proves that templates of every channel are made, previewed, checked and compared in the browser. */

import type { Browser, Page } from 'playwright-core';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { startBrowser } from '../support/browser';
import { builtConsole, LOOKS } from '../support/console';
import { faultsOfPages, LOOK_TIMEOUT_MS, signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('templates in the console', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let user: { email: string; password: string };
  const paths: Record<string, string> = {};

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open(), { more: [builtConsole()] });
    ({ user } = await newWorkspace(api.identity));
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  const open = (path: string) => signedInAt(browser, api.url, user, path);
  const keepPath = async (page: Page, name: string) => {
    await page.waitForURL(/templates\/(?!new)/);
    // The address changes before the page does.
    await page.getByRole('button', { name: 'Save as new version' }).waitFor();
    paths[name] = new URL(page.url()).pathname.replace('/console', '');
  };

  test('an SMS shows segments and encoding while it is typed, and is saved in versions', async () => {
    const { page, complaints, close } = await open('/templates/new/sms');
    await page.getByLabel('Name', { exact: true }).fill('Reminder');
    const text = page.getByLabel('Text', { exact: true });
    await text.fill('Hello {{NAME}}');
    await page.getByText('1 segment').waitFor();
    await page.getByText('GSM-7').waitFor();
    await text.fill(`Hello {{NAME}} ${'ж'.repeat(70)}`);
    await page.getByText('2 segments').waitFor();
    await page.getByText('UCS-2').waitFor();
    await page.getByLabel('NAME', { exact: true }).fill('<b>Ada</b>');
    await page.getByText('Hello <b>Ada</b>').waitFor();
    await page.reload();
    expect(await text.inputValue()).toContain('ж');
    await text.fill('Hello {{NAME}}');
    await page.getByRole('button', { name: 'Create template' }).click();
    await keepPath(page, 'sms');
    await text.fill('Good morning {{NAME}}');
    await page.getByRole('button', { name: 'Save as new version' }).click();
    await page.getByText('Saved as version 2').first().waitFor();
    await page.getByRole('tab', { name: 'Versions' }).click();
    await page.getByText('Added: Good morning {{NAME}}').waitFor();
    expect(complaints.filter((one) => !one.includes('404'))).toEqual([]);
    await close();
  });

  test('an email is built of blocks, previewed as the server renders it, and nothing is lost by a refusal', async () => {
    const { page, complaints, close } = await open('/templates/new/email');
    await page.getByLabel('Name', { exact: true }).fill('Newsletter');
    await page.getByLabel('Subject', { exact: true }).fill('News for {{NAME}}');
    const preview = page.frameLocator('iframe').first();
    await preview.getByText('Hello {{NAME}}').waitFor();
    await page.getByRole('region', { name: 'Text' }).getByLabel('Text', { exact: true }).fill('See {{CITY}}');
    await preview.getByText('See {{CITY}}').waitFor();
    await page.getByLabel('CITY', { exact: true }).fill('<i>Paris</i>');
    await preview.getByText('See <i>Paris</i>').waitFor();
    await page.getByRole('button', { name: 'Move Text up' }).click();
    await page.getByLabel('New block').selectOption('Button');
    await page.getByRole('button', { name: 'Add block' }).click();
    const link = page.getByRole('region', { name: 'Button' }).getByLabel('Link');
    await link.fill('javascript:alert(1)');
    await page.getByRole('button', { name: 'Create template' }).click();
    await page.getByRole('region', { name: 'Button' }).locator('.tone-bad').waitFor();
    expect(await link.inputValue()).toBe('javascript:alert(1)');
    await link.fill('https://example.com/{{CITY}}');
    await page.getByRole('button', { name: 'Create template' }).click();
    await keepPath(page, 'email');
    await page.getByRole('tab', { name: 'HTML' }).click();
    await page.locator('.cm-content').waitFor();
    expect(await page.locator('.cm-content').textContent()).toContain('See {{CITY}}');
    expect(complaints.filter((one) => !/422/.test(one))).toEqual([]);
    await close();
  });

  test('a call is a graph by keyboard, with findings at their step', async () => {
    const { page, complaints, close } = await open('/templates/new/voice');
    await page.getByLabel('Name', { exact: true }).fill('Call');
    await page.locator('.react-flow__node').first().waitFor();
    await page.getByLabel('New step').selectOption('Ask for a key');
    await page.getByRole('button', { name: 'Add step' }).click();
    await page.getByLabel('Text', { exact: true }).fill('Press 9 to hear no more of us');
    await page.getByLabel('Keys that unsubscribe').fill('9');
    await page.getByRole('button', { name: 'Create template' }).click();
    await page.locator('.flow-step.wrong', { hasText: 'No path leads here' }).waitFor();
    await page.getByRole('combobox', { name: 'Step', exact: true }).selectOption('Greeting');
    await page.getByLabel('Add a way to').selectOption('Press 9 to hear no more of us');
    await page.getByRole('button', { name: 'Create template' }).click();
    await keepPath(page, 'voice');
    await page.getByRole('tab', { name: 'XML' }).click();
    await page.locator('.cm-content', { hasText: '<Gather' }).waitFor();
    expect(complaints.filter((one) => !/422/.test(one))).toEqual([]);
    await close();
  });

  test.each(LOOKS)(
    'each page is accessible: $name',
    async (way) => {
      const shows = (selector: string) => (page: Page) => page.locator(selector).first().waitFor();
      const found = await faultsOfPages(browser, api.url, user, way, [
        { name: 'templates', path: '/templates', ready: shows('tbody tr') },
        { name: 'templates without any', path: '/templates?search=zzz', ready: shows('.state') },
        { name: 'template sms', path: paths.sms ?? '', ready: shows('textarea') },
        {
          name: 'template versions',
          path: `${paths.sms}?view=versions`,
          ready: shows('.difference'),
          mayBeAbsent: true,
        },
        { name: 'template test', path: `${paths.sms}?view=test`, ready: shows('form') },
        { name: 'template email', path: paths.email ?? '', ready: shows('iframe') },
        { name: 'template voice', path: paths.voice ?? '', ready: shows('.react-flow__node') },
      ]);
      expect(found).toEqual({});
    },
    LOOK_TIMEOUT_MS,
  );
});
