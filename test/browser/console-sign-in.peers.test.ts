/** Proves that a person signs in at an OpenID provider from the console, and is told in words why not. */

import type { Browser } from 'playwright-core';
import { createOidcProvider } from '../../src/oidc/oidc-provider';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { openPage, startBrowser } from '../support/browser';
import { builtConsole } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { type OidcIssuer, startOidcIssuer } from '../support/oidc-issuer';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('signing in at an OpenID provider', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let issuer: OidcIssuer;
  let user: { email: string; password: string };
  const byProvider = 'Sign in with your organization';

  beforeAll(async () => {
    browser = await startBrowser();
    issuer = await startOidcIssuer();
    const provider = createOidcProvider({ ...issuer, issuer: issuer.url, acrValues: [] });
    api = await startWholeApi(await database.open(), {
      more: [builtConsole({ oidc: true })],
      oidc: { provider, publicUrl: () => api.url },
    });
    user = (await newWorkspace(api.identity)).user;
    issuer.person = { email: user.email, email_verified: true };
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
    await issuer?.close();
  });

  test('a person is led to the provider, and back to where they wanted to go', async () => {
    const { page, close } = await openPage(browser);
    await page.goto(`${api.url}/console/suppression?search=ann`);
    await page.getByRole('link', { name: byProvider }).click();
    await page.getByRole('heading', { name: 'Suppression', level: 1 }).waitFor();
    expect(page.url()).toBe(`${api.url}/console/suppression?search=ann`);
    await close();
  });

  test('a refusal is said in words, also to a person who is signed in as another user', async () => {
    const { page, close } = await signedInAt(browser, api.url, user, '/sign-in');
    issuer.person = { email: 'nobody@example.com', email_verified: true };
    await page.getByRole('link', { name: byProvider }).click();
    await page.getByText('No user here has your email address, or the user is disabled.').waitFor();
    await close();
  });
});
