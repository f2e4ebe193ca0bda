import { accessSync, constants, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

/**
 * `node scripts/console-pictures.mjs <data directory> [address]`: pictures of the console's pages in both themes, into
 * docs/images, from a running `npm start` whose demo has ended. Look at each before it is committed.
 */
const IMAGES = join(dirname(fileURLToPath(import.meta.url)), '..', 'docs', 'images');
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const SCREEN = { width: 1_280, height: 860 };

const [dataDir = '.fanfare', address = 'http://127.0.0.1:8080'] = process.argv.slice(2);
const { user } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));

mkdirSync(IMAGES, { recursive: true });
const browser = await chromium.launch({ executablePath: BROWSERS.find(isThere), args: ['--no-sandbox'] });
try {
  for (const theme of ['light', 'dark']) await takePictures(theme);
} finally {
  await browser.close();
}

async function takePictures(theme) {
  const context = await browser.newContext({ colorScheme: theme, viewport: SCREEN });
  const page = await context.newPage();
  await page.goto(`${address}/console/`);
  await page.getByLabel('Email').fill(user.email);
  await page.getByLabel('Password').fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  const campaign = await newestCampaign(page);
  const pages = [
    ['home', '/'],
    ['campaigns', '/campaigns'],
    ['new-campaign', '/new-campaign'],
    ...(campaign
      ? [
          ['campaign', `/campaigns/${campaign}`],
          ['recipients', `/campaigns/${campaign}/recipients`],
        ]
      : []),
  ];
  for (const [name, path] of pages) {
    await page.goto(`${address}/console${path}`);
    await page.locator('h1').waitFor();
    await page.waitForFunction(() => document.querySelectorAll('.skeleton').length === 0);
    await page.screenshot({ path: join(IMAGES, `console-${name}-${theme}.png`) });
    process.stdout.write(`docs/images/console-${name}-${theme}.png\n`);
  }
  await context.close();
}

async function newestCampaign(page) {
  await page.goto(`${address}/console/campaigns`);
  const link = page.locator('table a').first();
  await link.waitFor({ timeout: 10_000 }).catch(() => undefined);
  const href = (await link.count()) > 0 ? await link.getAttribute('href') : undefined;
  return href?.split('/').at(-1);
}

function isThere(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
