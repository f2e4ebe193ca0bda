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
  const c = (o) => ({ total: 0, pending: 0, waiting: 0, sending: 0, accepted: 0, sent: 0, delivered: 0, undelivered: 0, failed: 0, rejected: 0, suppressed: 0, expired: 0, canceled: 0, unknown: 0, ...o });
  await page.route('**/api/overview', r => r.fulfill({ json: { result: 'success', status: 200, message: '', data: { campaigns: [
    { id: 'cmp_a', name: 'Spring sale <b>2026</b>', phase: 'running', counts: { email: c({ total: 10000, delivered: 4000, sent: 1200, failed: 30, pending: 4770 }), sms: c({ total: 5000, delivered: 800, pending: 4200 }) }, ratePerSecond: 412.3, eta: new Date(Date.now() + 6e5).toISOString() },
    { id: 'cmp_b', name: 'Reminder', phase: 'paused', counts: { sms: c({ total: 500, waiting: 100, delivered: 400 }) }, ratePerSecond: 0, eta: null }],
    outbox: [{ channel: 'email', due: 120, oldestSeconds: 4, held: 0 }, { channel: 'sms', due: 0, oldestSeconds: null, held: 12 }, { channel: 'voice', due: 0, oldestSeconds: null, held: 0 }],
    accounts: [{ id: 'default-email', name: 'default-email', kind: 'simulator', state: 'ok', since: new Date().toISOString() }, { id: 'acc_1', name: 'Twilio main', kind: 'twilio', state: 'paused', reason: 'The carrier refused our credentials', since: new Date().toISOString() }],
    lastHour: { email: { sent: 12000, delivered: 11000, failed: 42 }, sms: { sent: 800, delivered: 790, failed: 3 }, voice: { sent: 0, delivered: 0, failed: 0 } } } } }));
  await page.route('**/timeline?*', r => { const points = Array.from({ length: 120 }, (_, i) => ({ at: new Date(Date.now() - (120 - i) * 1000).toISOString(), sent: Math.round(60 + 40 * Math.sin(i / 9)), delivered: i > 10 ? Math.round(55 + 38 * Math.sin((i - 10) / 9)) : 0, failed: i % 17 === 0 ? 4 : 0 })); r.fulfill({ json: { data: { channels: { email: { stepSeconds: 1, points } } } } }); });
  await page.goto(base + '/console/');
  await page.getByLabel('Email').fill(user.email);
  await page.getByLabel('Password').fill(user.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  for (const p of paths) {
    await page.goto(base + '/console' + p);
    await page.waitForTimeout(Number(process.env.WAIT ?? 2500));
    const file = `/tmp/shots/${p.replace(/\W+/g, '_')}-${name}.png`;
    await page.screenshot({ path: file, fullPage: true });
    console.log(file, await page.evaluate('document.documentElement.scrollWidth'));
  }
  await ctx.close();
}
await browser.close();
