/** Proves that the console hides what a role may not do, says why, and shows a viewer no address. */

import type { Browser } from 'playwright-core';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { startBrowser } from '../support/browser';
import { builtConsole, faultsOf } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { describeWithDatabase } from '../support/storage';

const EMAIL = 'anna@shop.example';
const PHONE = '+12025550143';

describeWithDatabase('roles in the console', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let list: string;
  let contact: string;
  const users: Record<string, { email: string; password: string }> = {};

  beforeAll(async () => {
    browser = await startBrowser();
    api = await startWholeApi(await database.open(), { more: [builtConsole()] });
    const owner = await newWorkspace(api.identity);
    for (const role of ['viewer', 'sender'] as const) {
      const email = `${role}@roles.example`;
      const by = { workspaceId: owner.workspace.id, role: 'owner' as const };
      const { password } = await api.identity.users.create(by, { email, role });
      users[role] = { email, password };
    }
    const headers = { authorization: await bearerFor(api.identity, owner) };
    const post = async (path: string, body: unknown) =>
      (await api.call('POST', path, { headers, body })).body;
    list = (await post('/api/contact-list', { name: 'Readers' })).data.id;
    await post(`/api/contact-list/${list}/contacts`, {
      contacts: [{ externalId: 'cust-1', name: 'Anna', email: EMAIL, phone: PHONE }],
    });
    contact = (await api.call('GET', '/api/contact?search=cust-1', { headers })).body.data[0].id;
    await post('/api/suppression', { channel: 'email', address: EMAIL, reason: 'asked by phone' });
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  const open = (role: string, path: string) =>
    signedInAt(browser, api.url, users[role] as (typeof users)[string], path);

  const CHANGING = /^(New|Edit|Erase|Import|Lift|Add an address|Stop everything|Save policy|Rename|Remove)/;

  test.each([
    ['/', 'Stop everything'],
    ['/contacts', 'New list'],
    ['/contacts/lists/:list', 'Rename'],
    ['/contacts/:contact', 'Erase'],
    ['/suppression', 'Lift'],
    ['/templates', 'New template'],
    ['/webhooks', 'New webhook'],
    ['/policy', 'Save policy'],
  ])(
    'a viewer is not offered at %s what a viewer may not do, is told why, and sees no address',
    async (pattern, hidden) => {
      const path = pattern.replace(':list', list).replace(':contact', contact);
      const one = await open('viewer', path);
      const { page } = one;
      // What is beside the rows of a list comes with them.
      const reasons = page.locator('main').getByText('Not shown, because your role is viewer');
      await reasons.filter({ hasText: new RegExp(hidden, 'i') }).waitFor();
      expect(await page.locator('main').getByRole('button', { name: CHANGING }).count()).toBe(0);
      expect(await page.content()).not.toMatch(/anna@shop|2025550143/);
      expect(await faultsOf(one)).toEqual([]);
      await one.close();
    },
  );

  test('a sender is offered what a sender may do, and told what an admin may', async () => {
    const one = await open('sender', '/suppression');
    await one.page.getByRole('button', { name: 'Add an address' }).waitFor();
    await one.page.getByText(EMAIL).waitFor();
    await one.page.getByText('because your role is sender: Lift').waitFor();
    expect(await one.page.getByRole('button', { name: /^Lift/ }).count()).toBe(0);
    await one.page.goto(`${api.url}/console/`);
    await one.page.getByRole('button', { name: 'Stop everything' }).waitFor();
    await one.close();
  });
});
