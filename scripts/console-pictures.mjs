import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

/**
 * Writes pictures of the console's pages to docs/images, in both themes: `npm start` in one terminal, then
 * `node scripts/console-pictures.mjs [name …]` in another. It signs in as the first user, whose password is in the
 * data directory's credentials.json. A new page needs a line in PAGES, and nothing else.
 */
const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..');
const IMAGES = join(ROOT, 'docs/images');
const DESK = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };

/**
 * `name` becomes console-<name>-<theme>.png; `path` is below /console; `follow` are links to open first, one after the other, for
 * pages whose address holds an id; `ready` is on the page once it is complete.
 */
const PAGES = [
  { name: 'home', path: '/', ready: 'main h1' },
  { name: 'campaigns', path: '/campaigns', ready: 'tbody tr' },
  { name: 'campaign', path: '/campaigns', follow: 'tbody a', ready: '.bar' },
  {
    ...{ name: 'recipients', path: '/campaigns', ready: '.people-space a' },
    follow: ['tbody a', 'a[href$="/recipients"]'],
  },
  {
    ...{ name: 'recipient', path: '/campaigns', ready: '.steps li' },
    follow: ['tbody a', 'a[href$="/recipients"]', '.people-space a'],
  },
  { name: 'new-campaign', path: '/new-campaign', ready: 'main h1' },
  { name: 'contacts', path: '/contacts', ready: 'tbody tr' },
  { name: 'contact-list', path: '/contacts', follow: 'tbody a', ready: 'tbody tr' },
  { name: 'contact', path: '/contacts?view=people', follow: 'tbody a', ready: '.facts' },
  { name: 'templates', path: '/templates', ready: 'tbody tr, .state' },
  { name: 'template-sms', path: '/templates/new/sms', ready: 'textarea' },
  { name: 'template-email', path: '/templates?channel=email', follow: 'tbody a', ready: 'iframe' },
  { name: 'template-voice', path: '/templates?channel=voice', follow: 'tbody a', ready: '.react-flow__node' },
  { name: 'suppression', path: '/suppression', ready: 'tbody tr, .state' },
  { name: 'webhooks', path: '/webhooks', ready: 'tbody tr, .state' },
  { name: 'policy', path: '/policy', ready: 'form' },
  { name: 'access', path: '/access', ready: 'tbody tr' },
  { name: 'carriers', path: '/carriers', ready: 'tbody tr' },
  { name: 'audit', path: '/audit', ready: 'tbody tr, .state' },
  { name: 'system', path: '/system', ready: '#temporal' },
  { name: 'account', path: '/account', ready: 'form' },
  { name: 'phone', path: '/campaigns', follow: 'tbody a', ready: '.bar', viewport: PHONE },
];

const data = process.env.FANFARE_DATA_DIR ?? join(ROOT, '.fanfare');
const { baseUrl, user } = JSON.parse(readFileSync(join(data, 'credentials.json'), 'utf8'));
const wanted = process.argv.slice(2);
const missing = [];

mkdirSync(IMAGES, { recursive: true });
const browser = await chromium.launch({ executablePath: executable(), args: ['--no-sandbox'] });
try {
  for (const theme of ['light', 'dark']) await takeAll(theme);
} finally {
  await browser.close();
}
if (missing.length > 0) {
  process.stderr.write(`Not taken, because the page did not become ready: ${missing.join(', ')}\n`);
  process.exitCode = 1;
}

async function takeAll(theme) {
  const context = await browser.newContext({ viewport: DESK, colorScheme: theme, reducedMotion: 'reduce' });
  const page = await context.newPage();
  await page.goto(`${baseUrl}/console/`);
  await page.getByLabel('Email').fill(user.email);
  await page.getByLabel('Password').fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  for (const one of PAGES) {
    if (wanted.length > 0 && !wanted.includes(one.name)) continue;
    await take(page, one, theme).catch(() => missing.push(`${one.name} (${theme})`));
  }
  await context.close();
}

async function take(page, { name, path, follow, ready, viewport = DESK }, theme) {
  await page.setViewportSize(viewport);
  await page.goto(`${baseUrl}/console${path}`);
  for (const link of [follow ?? []].flat()) await page.locator(link).first().click({ timeout: 10_000 });
  await page.locator(ready).first().waitFor({ timeout: 10_000 });
  await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => undefined);
  await page.screenshot({ path: join(IMAGES, `console-${name}-${theme}.png`) });
}

function executable() {
  const places = [
    process.env.CHROMIUM,
    '/usr/bin/chromium',
    '/usr/bin/chromium-browser',
    '/usr/bin/google-chrome',
  ];
  const found = places.find((place) => place && existsSync(place));
  if (!found) throw new Error('No browser was found; CHROMIUM names one');
  return found;
}
