/** Proves that the console answers at once beside a campaign of a million recipients and 5,000 others (api.md 16). */

import type { Kysely } from 'kysely';
import type { Browser, Page } from 'playwright-core';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { type ObservedPage, startBrowser } from '../support/browser';
import { builtConsole } from '../support/console';
import { signedInAt } from '../support/console-pages';
import { type Planted, plantCampaigns, plantMillion } from '../support/million';
import { describeWithDatabase } from '../support/storage';

const RECIPIENTS = 1_000_000;
const CAMPAIGNS = 5_000;
/** From an input to the next frame, and the API's p99 for what the pages read. */
const LIMIT_MS = 100;
/** Each round is held to the limit by its best, because another process may have had the machine in the others. */
const ROUNDS = 3;
const ASKED = 100;
const DEEP_ROWS = 20_000;

/** Browsers tell of an input's event how long it took until what it changed was painted; below 16 ms nothing. */
const OBSERVE = `
  window.inputs = [];
  new PerformanceObserver((list) => window.inputs.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'event', durationThreshold: 16 });
  window.tasks = [];
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'longtask' });`;
const TWO_FRAMES = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))';

describeWithDatabase('the console beside a million recipients', (database) => {
  let browser: Browser;
  let api: WholeApi;
  let planted: Planted;
  let one: ObservedPage;
  let page: Page;

  beforeAll(async () => {
    browser = await startBrowser();
    const storage = await database.open();
    api = await startWholeApi(storage, { more: [builtConsole()] });
    const { user, workspace } = await newWorkspace(api.identity);
    const db = storage.tables<CampaignTables>() as Kysely<CampaignTables>;
    planted = await plantMillion(db, { workspaceId: workspace.id, recipients: RECIPIENTS });
    await plantCampaigns(db, { workspaceId: workspace.id, campaigns: CAMPAIGNS });
    one = await signedInAt(browser, api.url, user, '/campaigns', { viewport: { width: 1_280, height: 900 } });
    page = one.page;
    await page.evaluate(OBSERVE);
  }, 240_000);
  afterAll(async () => {
    await one?.close();
    await browser?.close();
    await api?.stop();
  });

  /** The slowest input of each of these, in its best round. */
  async function slowest(steps: Record<string, () => Promise<unknown>>): Promise<Record<string, number>> {
    const best: Record<string, number> = {};
    const shown: Record<string, number> = {};
    for (let round = 0; round < ROUNDS; round++) {
      for (const [name, step] of Object.entries(steps)) {
        await page.evaluate('window.inputs.length = 0; window.tasks.length = 0');
        const from = performance.now();
        await step();
        const took = performance.now() - from;
        await page.evaluate(TWO_FRAMES);
        const worst = await page.evaluate<number>('Math.max(0, ...window.inputs, ...window.tasks)');
        best[name] = Math.min(best[name] ?? Number.POSITIVE_INFINITY, worst);
        shown[name] = Math.min(shown[name] ?? Number.POSITIVE_INFINITY, Math.round(took));
      }
    }
    process.stdout.write(`${JSON.stringify({ input: best, shown })}\n`);
    return best;
  }

  const within = (found: Record<string, number>) =>
    Object.entries(found).filter(([, took]) => !(took < LIMIT_MS));
  const rows = (text: string) => page.locator('tbody tr').filter({ hasText: text }).first().waitFor();

  test('the list of campaigns: pages, filters and a search', async () => {
    const open = async () => {
      await page.getByRole('link', { name: 'Campaigns', exact: true }).click();
      await rows('A million');
    };
    const found = await slowest({
      open,
      'another page': async () => {
        await page.getByRole('button', { name: 'Next page' }).click();
        await page.getByText('Page 2 of').waitFor();
      },
      'a channel': async () => {
        await page.getByLabel('Channel').selectOption('voice');
        await rows('Campaign 2');
      },
      'a search': async () => {
        await page.getByLabel('Search').pressSequentially('499');
        await page.keyboard.press('Enter');
        await page.getByText('Page 2 of').waitFor({ state: 'detached' });
        await rows('499');
      },
      home: async () => {
        await page.getByRole('link', { name: 'Home', exact: true }).click();
        await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
        await page.getByText('A million').waitFor();
      },
    });
    expect(within(found)).toEqual([]);
  }, 120_000);

  test('a campaign and its recipients: scrolled, filtered, searched, explained', async () => {
    const firstRow = () => page.locator('.people-space .people-row').first();
    const found = await slowest({
      'the campaign': async () => {
        await page.getByRole('link', { name: 'Campaigns', exact: true }).click();
        await page.getByRole('link', { name: 'A million' }).click();
        await page.locator('.counts').first().waitFor();
      },
      'its recipients': async () => {
        await page.getByRole('link', { name: 'Recipients', exact: true }).click();
        await firstRow().waitFor();
      },
      'a wheel': async () => {
        await firstRow().hover();
        for (let i = 0; i < 10; i++) await page.mouse.wheel(0, 2_000);
        await page.waitForFunction('document.querySelector(".people-scroll").scrollTop > 8000');
      },
      'a state': async () => {
        await page.getByLabel('State').selectOption('failed');
        await page.locator('.people-space .badge', { hasText: 'Failed' }).first().waitFor();
      },
      'a state that few have': async () => {
        await page.getByLabel('State').selectOption('unknown');
        await page.locator('.people-space .badge', { hasText: 'Unknown' }).first().waitFor();
      },
      'every state': async () => {
        await page.getByLabel('State').selectOption('');
        await page.locator('.people-space .badge', { hasText: 'Delivered' }).first().waitFor();
      },
      'a search': async () => {
        await page.getByLabel('Search').pressSequentially('m654321');
        await page.keyboard.press('Enter');
        await page.getByRole('link', { name: '+13022654321' }).waitFor();
      },
      'one person': async () => {
        await page.getByRole('link', { name: '+13022654321' }).click();
        await page.getByRole('heading', { name: '+13022654321' }).waitFor();
      },
    });
    expect(within(found)).toEqual([]);
  }, 180_000);

  test('far down in the recipients a frame is as quick as at the top, and few rows are in the document', async () => {
    await page.goto(`${api.url}/console/campaigns/${planted.campaignId}/recipients`);
    await page.evaluate(OBSERVE);
    await page.locator('.people-space .people-row').first().waitFor();
    await page.evaluate(`new Promise((done) => {
      const scroll = document.querySelector('.people-scroll');
      const step = () => {
        scroll.scrollTop = scroll.scrollHeight;
        const last = document.querySelector('.people-space .people-row:last-child');
        if (Number(last?.getAttribute('aria-rowindex')) > ${DEEP_ROWS}) done();
        else requestAnimationFrame(step);
      };
      step();
    })`);
    const found = await slowest({
      'far down': async () => {
        await page.locator('.people-scroll').hover();
        for (let i = 0; i < 10; i++) {
          await page.mouse.wheel(0, i % 2 ? 3_000 : -2_000);
          await page.evaluate(TWO_FRAMES);
        }
      },
    });
    const heap = await page.evaluate<number>('performance.memory.usedJSHeapSize');
    process.stdout.write(`heap ${Math.round(heap / 1e6)} MB\n`);
    expect(within(found)).toEqual([]);
    expect(await page.locator('.people-space .people-row').count()).toBeLessThan(100);
  }, 180_000);

  test('what the pages read is answered within the limit', async () => {
    const { campaignId: id, runId } = planted;
    const cookies = await page.context().cookies();
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const { user } = (await api.call('GET', '/api/session', { headers: { cookie } })).body;
    const headers = { cookie, 'x-user-id': user.id };
    const asks: Record<string, (i: number) => string> = {
      detail: () => `/api/campaign/${id}`,
      outcomes: () => `/api/campaign/${id}/outcomes`,
      timeline: () => `/api/campaign/${id}/timeline?points=200`,
      'a page': () => `/api/campaign/${id}/recipients?limit=200`,
      'by state': () => `/api/campaign/${id}/recipients?limit=200&state=failed`,
      'by code': () => `/api/campaign/${id}/recipients?limit=200&code=spam_refused`,
      'not yet taken, at the end': () => `/api/campaign/${id}/recipients?limit=200&state=pending`,
      'a state with no recipient': () => `/api/campaign/${id}/recipients?limit=200&state=canceled`,
      'a rare state': () => `/api/campaign/${id}/recipients?limit=200&state=unknown`,
      'a rare state without a code': () => `/api/campaign/${id}/recipients?limit=200&state=accepted`,
      'a rare state of a channel': () => `/api/campaign/${id}/recipients?limit=200&state=unknown&channel=sms`,
      'a state and a code': () =>
        `/api/campaign/${id}/recipients?limit=200&state=failed&channel=sms&code=spam_refused`,
      'a state and another code': () =>
        `/api/campaign/${id}/recipients?limit=200&state=failed&code=absent_subscriber`,
      'a state and a search': (i) =>
        `/api/campaign/${id}/recipients?limit=200&state=failed&search=person${i % 1000}`,
      'a rare state, a code and a search': (i) =>
        `/api/campaign/${id}/recipients?limit=200&state=unknown&code=answer_lost&search=person${i % 10}`,
      'search by id': (i) => `/api/campaign/${id}/recipients?search=m${i}`,
      'search by phone': (i) => `/api/campaign/${id}/recipients?search=%2B1${3022000000 + i}`,
      'search by beginning': (i) => `/api/campaign/${id}/recipients?search=person${i % 1000}`,
      'search for nobody': (i) => `/api/campaign/${id}/recipients?search=nobody${i}`,
      person: (i) => `/api/campaign/${id}/recipients/${runId}.sms.${i}`,
      campaigns: (i) => `/api/campaign?page=${1 + (i % 30)}&limit=50&channel=sms`,
      'campaigns by name': (i) => `/api/campaign?page=1&limit=50&channel=sms&search=${i % 5000}`,
      overview: () => '/api/overview',
      contacts: (i) => `/api/contact?search=person${i}`,
    };
    const p99: Record<string, number> = {};
    for (const [name, pathOf] of Object.entries(asks)) {
      for (let round = 0; round < ROUNDS && !((p99[name] ?? LIMIT_MS) < LIMIT_MS); round++) {
        const took: number[] = [];
        for (let n = 0; n < ASKED; n++) {
          const path = pathOf((n * 1_037_389) % RECIPIENTS);
          const from = performance.now();
          const { status } = await api.call('GET', path, { headers });
          took.push(performance.now() - from);
          if (status !== 200) throw new Error(`${path} answered ${status}`);
        }
        took.sort((a, b) => a - b);
        const last = Math.round(took[Math.ceil(took.length * 0.99) - 1] ?? Number.POSITIVE_INFINITY);
        p99[name] = Math.min(p99[name] ?? Number.POSITIVE_INFINITY, last);
      }
    }
    process.stdout.write(`${JSON.stringify({ p99 })}\n`);
    expect(within(p99)).toEqual([]);
  }, 600_000);
});
