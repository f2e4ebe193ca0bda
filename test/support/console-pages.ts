import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import type { ObservedPage } from './browser';
import { faultsOf, signedIn, type Way } from './console';

/** A page of the console to be looked at. */
export interface Look {
  /** Of the picture, if `CONSOLE_PICTURES` names a folder for them. */
  name: string;
  path: string;
  /** What shows that it is complete. */
  ready(page: Page): Promise<unknown>;
  /** It reads an endpoint that the server may not have, and says so where it would show the answer. */
  mayBeAbsent?: boolean;
}

const isAbsence = (complaint: string) => complaint.includes('404 (Not Found)');

/** For all pages of a suite in one look: each takes seconds on a machine that does much else. */
export const LOOK_TIMEOUT_MS = 300_000;

/** Faults and complaints of each page in one way to look at it; empty when all is well. */
export async function faultsOfPages(
  browser: Browser,
  url: string,
  user: { email: string; password: string },
  { name: way, options }: Way,
  looks: readonly Look[],
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const one = await signedInAt(browser, url, user, '/sign-in', options);
  for (const { name, path, ready, mayBeAbsent } of looks) {
    await one.page.goto(`${url}/console${path}`);
    await ready(one.page);
    await takePicture(one, `${name} ${way}`);
    const complaints = one.complaints.splice(0).filter((text) => !(mayBeAbsent && isAbsence(text)));
    const faults = [...(await faultsOf(one)), ...complaints];
    if (faults.length > 0) found[name] = faults;
  }
  await one.close();
  return found;
}

/** One page after signing in, without what Home has complained of, which is shown first. */
export async function signedInAt(
  browser: Browser,
  url: string,
  user: { email: string; password: string },
  path: string,
  options: BrowserContextOptions = {},
): Promise<ObservedPage> {
  const one = await signedIn(browser, url, user, options);
  await one.page.goto(`${url}/console/sign-in`);
  await one.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  one.complaints.length = 0;
  await one.page.goto(`${url}/console${path}`);
  return one;
}

async function takePicture({ page }: ObservedPage, name: string): Promise<void> {
  const folder = process.env.CONSOLE_PICTURES;
  if (!folder) return;
  await page.screenshot({ path: join(folder, `${name.replace(/\W+/g, '-')}.png`), fullPage: true });
}
