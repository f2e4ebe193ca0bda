/** Proves that every page of a workspace without data says that it is empty and what to do next. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import type { MessagingTables } from '../../src/messaging/model/tables';
import type { Storage } from '../../src/storage/storage';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { type ObservedPage, startBrowser } from '../support/browser';
import { builtConsole, faultsOf } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { ROOT } from '../support/root';
import { describeWithDatabase } from '../support/storage';

/** What a workspace without data shows, by the page's path in the router. */
const FRESH: Record<string, string[]> = {
  '/': ['/'],
  '/campaigns': ['/campaigns'],
  '/templates': ['/templates'],
  '/contacts': ['/contacts', '/contacts?view=people'],
  '/suppression': ['/suppression'],
  '/webhooks': ['/webhooks'],
  '/carriers': ['/carriers?view=routes', '/carriers?view=senders'],
};
/** Empty only for a person whose programs, with which this test calls, are gone. */
const PROGRAMS = { '/access': ['/access?view=clients', '/access?view=keys'] };
/** Forms, pages of one thing that always has content, and the system, which has an account of this test. */
const NEVER_EMPTY = [
  ...['/sign-in', '/new-campaign', '/templates/new/$channel', '/contacts/lists/$listId/import', '/policy'],
  ...['/campaigns/$id', '/recipients/$recipientId', '/settings', '/account', '/system'],
];

describeWithDatabase('pages of the console without data', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let storage: Storage;
  let user: { email: string; password: string };
  let headers: Record<string, string>;

  const post = async (path: string, body: unknown) => (await api.call('POST', path, { headers, body })).body;

  beforeAll(async () => {
    browser = await startBrowser();
    storage = await database.open();
    api = await startWholeApi(storage, { more: [builtConsole()] });
    const owner = await newWorkspace(api.identity);
    user = owner.user;
    headers = { authorization: await bearerFor(api.identity, owner) };
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  /** What is empty, or found nothing, beside one of each thing. */
  async function plant(): Promise<Record<string, string[]>> {
    const template = (
      await post('/api/template', { channel: 'sms', templateName: 'Only one', body: 'Hello {{NAME}}' })
    ).template.id;
    const list = (await post('/api/contact-list', { name: 'Empty list' })).data.id;
    const filled = (await post('/api/contact-list', { name: 'One' })).data.id;
    await post(`/api/contact-list/${filled}/contacts`, {
      contacts: [{ name: 'Ada', phone: '+12025550143' }],
    });
    const [{ id: contact }] = (await api.call('GET', '/api/contact', { headers })).body.data;
    const { id } = (
      await post('/api/campaign', {
        ...{ name: 'Weekly', channel: ['sms'], start: false, contactListId: [filled] },
        settings: { sms: { shortCode: '12345', templateId: template, version: 1 } },
        schedule: { cron: '0 9 * * 1', timezone: 'Europe/Berlin' },
      })
    ).data;
    const webhook = (await post('/api/webhook', { url: 'https://hooks.example.com/in', events: ['*'] })).data
      .id;
    const none = 'search=none-has-this';
    return {
      '/campaigns': [`/campaigns?${none}`],
      '/recipients': ['', '?state=failed', `?${none}`].map((query) => `/campaigns/${id}/recipients${query}`),
      '/runs': [`/campaigns/${id}/runs`],
      '/templates': [`/templates?${none}`, '/templates?channel=voice'],
      '/templates/$templateId': [`/templates/${template}?view=versions`],
      '/contacts': [`/contacts?${none}`, `/contacts?view=people&${none}`],
      '/contacts/lists/$listId': [`/contacts/lists/${list}`],
      '/contacts/$contactId': [`/contacts/${contact}`],
      '/suppression': [`/suppression?${none}`],
      '/webhooks/$webhookId': [`/webhooks/${webhook}`],
      '/audit': ['/audit?actor=none-has-this'],
    };
  }

  async function forgetPrograms(): Promise<void> {
    const db = storage.tables<MessagingTables>();
    await db.deleteFrom('api_keys').execute();
    await db.deleteFrom('api_clients').execute();
  }

  /** Pages without a designed empty state, or with one that says nothing of what to do. */
  async function wrongOf(one: ObservedPage, paths: readonly string[]): Promise<Record<string, unknown>> {
    const { page } = one;
    const wrong: Record<string, unknown> = {};
    for (const path of paths) {
      await page.goto(`${api.url}/console${path}`);
      const state = page.locator('main .state:not(.bad)').first();
      const title = await state
        .locator('h2')
        .textContent()
        .catch(() => undefined);
      const next = await state
        .locator('.muted, .button')
        .allTextContents()
        .catch(() => []);
      const faults = await faultsOf(one);
      if (!title || next.join('').trim() === '' || faults.length > 0) wrong[path] = { title, next, faults };
    }
    return wrong;
  }

  test('each page of the router says that it is empty, and what brings something', async () => {
    const one = await signedInAt(browser, api.url, user, '/account');
    const { page, complaints, close } = one;
    page.setDefaultTimeout(15_000);
    const fresh = await wrongOf(one, Object.values(FRESH).flat());
    const beside = await plant();
    const found = { ...fresh, ...(await wrongOf(one, Object.values(beside).flat())) };
    await forgetPrograms();
    expect({ ...found, ...(await wrongOf(one, PROGRAMS['/access'])) }).toEqual({});
    // Why an address is not among the recipients is asked, and the answer that none has it is a 404.
    expect(complaints.filter((one) => !one.includes('404 (Not Found)'))).toEqual([]);
    const router = readFileSync(join(ROOT, 'console/src/router.tsx'), 'utf8');
    const paths = [...router.matchAll(/^ {2}path: '(.+)',$/gm)].map(([, path]) => path);
    const seen = new Set([
      ...Object.keys(FRESH),
      ...Object.keys(beside),
      ...Object.keys(PROGRAMS),
      ...NEVER_EMPTY,
    ]);
    expect(paths.filter((path) => !seen.has(path as string))).toEqual([]);
    expect(paths.length).toBeGreaterThan(20);
    await close();
  }, 300_000);
});
