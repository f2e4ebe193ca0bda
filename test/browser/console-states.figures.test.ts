/**
 * Proves that every page says when it loads, when something went wrong and when the server is away, for everyone. Some 400
 * pages are looked at with axe, which takes minutes; therefore `npm run test:figures` runs it and not every run of all tests.
 */

import type { Browser, Route } from 'playwright-core';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { type ObservedPage, startBrowser } from '../support/browser';
import { builtConsole, faultsOf, LOOKS, type Way } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { plantMillion } from '../support/million';
import { describeWithDatabase } from '../support/storage';

const RECIPIENTS = 10_000;
const REQUEST_ID = 'req-of-this-test';
const WHY = 'The shelf on which this stood is empty.';
/** A window of 1,280 px at 200 % shows what a window of half its width does, with twice as many pixels. */
const ZOOMED = {
  name: 'light at 200 %',
  options: { colorScheme: 'light', viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
} as const;
const WAYS: Way[] = [...LOOKS, ZOOMED];

interface Seen {
  path: string;
  /** It has nothing to read, so that it never waits. */
  readsNothing?: boolean;
}

describeWithDatabase('the states of the pages of the console', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let user: { email: string; password: string };
  let pages: Seen[];

  beforeAll(async () => {
    browser = await startBrowser();
    const storage = await database.open();
    api = await startWholeApi(storage, { more: [builtConsole()] });
    const owner = await newWorkspace(api.identity);
    user = owner.user;
    const { campaignId, runId } = await plantMillion(storage.tables<CampaignTables>(), {
      workspaceId: owner.workspace.id,
      recipients: RECIPIENTS,
    });
    const headers = { authorization: await bearerFor(api.identity, owner) };
    const body = { channel: 'sms', templateName: 'Reminder', body: 'Hello {{NAME}}' };
    const { template } = (await api.call('POST', '/api/template', { headers, body })).body;
    const list = (await api.call('POST', '/api/contact-list', { headers, body: { name: 'Readers' } })).body;
    pages = [
      ...['/', '/campaigns', '/new-campaign', '/templates', '/contacts', '/contacts?view=people'],
      ...['', '/recipients', `/recipients/${runId}.sms.7`, '/runs', '/settings'].map(
        (part) => `/campaigns/${campaignId}${part}`,
      ),
      ...['', '?view=versions', '?view=test'].map((view) => `/templates/${template.id}${view}`),
      ...['', '/import'].map((part) => `/contacts/lists/${list.data.id}${part}`),
      ...['/contacts/con_m7', '/suppression', '/webhooks', '/policy', '/audit', '/system', '/account'],
      ...['/carriers', '/carriers?view=routes', '/carriers?view=senders'],
      ...['/access', '/access?view=clients', '/access?view=keys'],
    ].map((path) => ({ path }));
    pages.push(
      ...['sms', 'email', 'voice'].map((one) => ({ path: `/templates/new/${one}`, readsNothing: true })),
    );
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  /** What comes of everything but the session, which the shell around each page reads. */
  const ANSWERS: Record<string, (route: Route) => Promise<void>> = {
    'while it loads': async () => undefined,
    'after an error': (route) =>
      route.fulfill({
        status: 422,
        contentType: 'application/problem+json',
        headers: { 'x-request-id': REQUEST_ID },
        body: JSON.stringify({ code: 'not_here', title: 'Not here', status: 422, detail: WHY, errors: [] }),
      }),
    'while the server is away': (route) => route.abort(),
  };
  const SIGNS: Record<string, (one: ObservedPage) => Promise<unknown>> = {
    'while it loads': ({ page }) => page.locator('main .skeleton').first().waitFor(),
    'after an error': async ({ page }) => {
      await page.getByText(WHY).first().waitFor();
      await page.getByText(`Request id ${REQUEST_ID}`).first().waitFor();
    },
    'while the server is away': async ({ page }) => {
      await page.getByText('Fanfare does not answer').waitFor();
      await page.locator('main [role=alert]').first().waitFor();
    },
  };

  async function faultsWhile(state: string, one: ObservedPage): Promise<Record<string, unknown>> {
    const { page } = one;
    const found: Record<string, unknown> = {};
    const [answer, sign] = [ANSWERS[state], SIGNS[state]];
    if (!answer || !sign) throw new Error(`no such state: ${state}`);
    // It may still wait for an answer when the page is left.
    await page.route(/\/(api|readyz|healthz|openapi)(?!\/session$)/, (route) =>
      answer(route).catch(() => undefined),
    );
    for (const { path, readsNothing } of pages) {
      await page.goto(`${api.url}/console${path}`);
      const shown = readsNothing ? page.locator('main form').waitFor() : sign(one);
      await shown.catch(() => Object.assign(found, { [`${path} ${state}`]: 'was not shown' }));
      const faults = await faultsOf(one);
      if (faults.length > 0) found[`${path} ${state}, to look at`] = faults;
    }
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    return found;
  }

  test.each(WAYS)(
    'each page says that it loads, what went wrong with the request id, and that the server is away: $name',
    async ({ options }) => {
      const one = await signedInAt(browser, api.url, user, '/account', options);
      one.page.setDefaultTimeout(15_000);
      const found: Record<string, unknown> = {};
      for (const state of Object.keys(ANSWERS)) Object.assign(found, await faultsWhile(state, one));
      expect(found).toEqual({});
      await one.close();
    },
    900_000,
  );

  test('each page leads to the form to sign in when the session has ended, and back to where it was', async () => {
    const one = await signedInAt(browser, api.url, user, '/account');
    const { page } = one;
    const wrong: string[] = [];
    for (const { path } of pages) {
      await page.context().clearCookies();
      await page.goto(`${api.url}/console${path}`);
      await page.getByLabel('Email').fill(user.email);
      await page.getByLabel('Password').fill(user.password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
      const { pathname, search } = new URL(page.url());
      if (`${pathname}${search}`.replace(/^\/console/, '') !== path) wrong.push(`${path}: ${page.url()}`);
    }
    expect(wrong).toEqual([]);
    await one.close();
  }, 300_000);
});
