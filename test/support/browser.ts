import { readFileSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { programOf } from './program';

/** A real browser, which finds nobody but this machine. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = programOf('chromium');
  return chromium.launch({
    executablePath,
    // Tests run as root in containers, where the browser's own sandbox refuses to start.
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}

/** For whatever a test waits for, on a machine that does much else. */
const PATIENCE_MS = 60_000;

/** A page, and what it asked for and complained of since it was opened. */
export interface ObservedPage {
  page: Page;
  requests: string[];
  complaints: string[];
  close(): Promise<void>;
}

export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<ObservedPage> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, requests, complaints, close: () => context.close() };
}

export interface Violation {
  rule: string;
  on: string[];
}

const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds wrong for people who cannot see, or not well, by every rule that it has. It needs scripts. */
export async function violationsOf(page: Page): Promise<Violation[]> {
  await page.evaluate(AXE);
  return page.evaluate<Violation[]>(
    'axe.run({ iframes: false }).then(({ violations }) => violations.map(({ id, nodes }) => ({ rule: id, on: nodes.map(({ html }) => html) })))',
  );
}
