import { chromium } from 'playwright-core';
import { readFileSync } from 'node:fs';
const [,, base, ...paths] = process.argv;
const { user } = JSON.parse(readFileSync('/tmp/console-demo/data/credentials.json'));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
for (const [name, opts] of [['light', { colorScheme: 'light', viewport: { width: 1280, height: 900 } }], ['dark360', { colorScheme: 'dark', viewport: { width: 360, height: 740 } }]]) {
  if (process.env.ONLY && process.env.ONLY !== name) continue;
  const ctx = await browser.newContext(opts);
  ctx.setDefaultTimeout(20000);
  const page = await ctx.newPage();
  page.on('console', m => ['error','warning'].includes(m.type()) && console.log(name, m.text()));
  page.on('pageerror', e => console.log(name, 'PAGEERROR', e.stack ?? String(e)));
  await page.goto(base + '/console/');
  await page.getByLabel('Email').fill(user.email);
  await page.getByLabel('Password').fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  for (const p of paths) {
    await page.goto(base + '/console' + p);
    await page.waitForTimeout(1500);
    const file = `/tmp/shots/${p.replace(/\W+/g, '_')}-${name}.png`;
    await page.screenshot({ path: file, fullPage: true });
    console.log(file, await page.evaluate('document.documentElement.scrollWidth'));
  }
  await ctx.close();
}
await browser.close();
