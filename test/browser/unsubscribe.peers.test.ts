import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { LIMITS } from '../../src/domain/limits';
import { LANGUAGES } from '../../src/domain/opt-out-packs';
import { UNSUBSCRIBE_TEXTS } from '../../src/http/pages/unsubscribe-texts';
import { startWholeApi, UNSUBSCRIBE_TOKENS, type WholeApi } from '../http/whole-api';
import { type ObservedPage, openPage, startBrowser, violationsOf } from '../support/browser';
import { describeWithDatabase } from '../support/storage';

const TEXTS = UNSUBSCRIBE_TEXTS.en;
/** The narrowest screen that a page must fit (WCAG 2.2, 1.4.10), and the smallest thing to be hit by a finger. */
const NARROW = { width: 320, height: 640 };
const FINGER_PX = 44;
/** Of what is behind the text, and of the text, from 0 to 255. */
const BRIGHTNESS = `(() => {
  const one = document.createElement('p');
  one.style.background = 'Canvas';
  document.body.append(one);
  const { backgroundColor, color } = getComputedStyle(one);
  one.remove();
  return [backgroundColor, color].map((value) => Number(/\\d+/.exec(value)[0]));
})()`;

describeWithDatabase('the page that unsubscribes, in a browser that runs no scripts', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let people = 0;
  let address: string;
  let url: string;
  const opened: ObservedPage[] = [];

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open());
  });
  beforeEach(() => {
    people += 1;
    address = `person-${people}@example.com`;
    url = `${api.url}/u/${UNSUBSCRIBE_TOKENS.seal({ workspaceId: api.rig.workspaceId, address })}`;
  });
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  async function open(options: BrowserContextOptions = {}, at = url): Promise<ObservedPage> {
    const one = await openPage(browser, { javaScriptEnabled: false, locale: 'en-GB', ...options });
    opened.push(one);
    await one.page.goto(at);
    return one;
  }
  const isBlocked = async () => {
    const rows = await api.rig.db
      .selectFrom('suppressions')
      .select('id')
      .where('address', '=', address)
      .execute();
    return rows.length > 0;
  };
  const heading = (page: Page) => page.locator('h1').textContent();
  const press = (page: Page) => Promise.all([page.waitForNavigation(), page.locator('button').click()]);

  test('opening the page several times changes nothing and contacts no other server', async () => {
    const { page, requests, complaints } = await open();
    for (let i = 0; i < 3; i++) await page.reload();
    expect(await heading(page)).toBe(TEXTS.ask.title);
    expect(await isBlocked()).toBe(false);
    expect(requests.filter((one) => one !== url && !one.endsWith('/favicon.ico'))).toEqual([]);
    expect(complaints).toEqual([]);
  });

  test('the keyboard alone unsubscribes, and takes it back', async () => {
    const { page } = await open();
    const focused = () => page.locator(':focus-visible');
    await page.keyboard.press('Tab');
    expect(await focused().textContent()).toBe(TEXTS.unsubscribe);
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).not.toBe('none');
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    expect([await heading(page), await isBlocked()]).toEqual([TEXTS.done.title, true]);
    await page.keyboard.press('Tab');
    expect(await focused().textContent()).toBe(TEXTS.resubscribe);
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Space')]);
    expect([await heading(page), await isBlocked()]).toEqual([TEXTS.undone.title, false]);
  });

  test('one press of the button unsubscribes, and pressing it again is harmless', async () => {
    const { page } = await open();
    await press(page);
    expect([await heading(page), await isBlocked()]).toEqual([TEXTS.done.title, true]);
    expect(await page.locator('[role=status]').textContent()).toBe(TEXTS.done.text);
    await page.goBack();
    await press(page);
    expect([await heading(page), await isBlocked()]).toEqual([TEXTS.done.title, true]);
  });

  test.each(['light', 'dark'] as const)(
    'nobody is kept out of any of its pages, in %s',
    async (colorScheme) => {
      // What looks is a script, and the page has none of its own that could help it.
      const { page } = await open({ colorScheme, javaScriptEnabled: true });
      const [background, text] = await page.evaluate<[number, number]>(BRIGHTNESS);
      expect(background > text).toBe(colorScheme === 'light');
      const check = async (title: string) =>
        expect([await heading(page), await violationsOf(page)]).toEqual([title, []]);
      await check(TEXTS.ask.title);
      await press(page);
      await check(TEXTS.done.title);
      await press(page);
      await check(TEXTS.undone.title);
      for (let i = 2; i < LIMITS.unsubscribesPerMinute; i++) {
        await api.call('POST', new URL(url).pathname, { body: { action: 'resubscribe' } });
      }
      await press(page);
      await check(TEXTS.busy.title);
      await page.goto(url.slice(0, -9));
      await check(TEXTS.unknown.title);
    },
  );

  test.each(LANGUAGES)('in %s it says everything, and fits a narrow screen', async (language) => {
    const texts = UNSUBSCRIBE_TEXTS[language];
    const { page } = await open({ locale: `${language}-XX`, viewport: NARROW });
    const check = async (title: string) => {
      expect(await heading(page)).toBe(title);
      expect(await page.locator('html').getAttribute('lang')).toBe(language);
      expect(await page.locator('html').getAttribute('dir')).toBe(texts.dir);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(NARROW.width);
    };
    await check(texts.ask.title);
    const box = await page.locator('button').boundingBox();
    expect(box?.height).toBeGreaterThanOrEqual(FINGER_PX);
    await press(page);
    await check(texts.done.title);
    expect(await page.locator('main').textContent()).toContain(texts.done.mistake);
    await press(page);
    await check(texts.undone.title);
    await page.goto(url.slice(0, -9));
    await check(texts.unknown.title);
  });
});
