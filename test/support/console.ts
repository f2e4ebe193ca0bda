import { join } from 'node:path';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { consoleRoutes } from '../../src/http/console';
import { type ObservedPage, openPage, type Violation, violationsOf } from './browser';
import { ROOT } from './root';

/** The console as `npm run build` has made it. */
export const builtConsole = ({ oidc = false } = {}) => consoleRoutes(join(ROOT, 'dist/console'), { oidc });

const PHONE = { width: 360, height: 740 };
const DESK = { width: 1_280, height: 800 };

export interface Way {
  name: string;
  options: BrowserContextOptions;
}

/** The ways in which each page of the console is looked at. */
export const LOOKS: Way[] = [
  { name: 'light at 1280 px', options: { colorScheme: 'light', viewport: DESK } },
  { name: 'dark at 1280 px', options: { colorScheme: 'dark', viewport: DESK } },
  { name: 'light at 360 px', options: { colorScheme: 'light', viewport: PHONE } },
  { name: 'dark at 360 px', options: { colorScheme: 'dark', viewport: PHONE } },
];

/** A page of the console after signing in by its form. */
export async function signedIn(
  browser: Browser,
  url: string,
  user: { email: string; password: string },
  options: BrowserContextOptions = {},
): Promise<ObservedPage> {
  const one = await openPage(browser, { viewport: DESK, ...options });
  await one.page.goto(`${url}/console/`);
  await one.page.getByLabel('Email').fill(user.email);
  await one.page.getByLabel('Password').fill(user.password);
  await one.page.getByRole('button', { name: 'Sign in' }).click();
  await one.page.getByRole('button', { name: 'Sign out' }).waitFor();
  return one;
}

/** What is wrong with a page as it stands: for people by axe, and whatever is wider than the window. */
export async function faultsOf({ page }: ObservedPage): Promise<Violation[]> {
  const faults = await violationsOf(page);
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
  return overflow > 0 ? [...faults, { rule: 'wider than the window', on: [`${overflow} px`] }] : faults;
}
