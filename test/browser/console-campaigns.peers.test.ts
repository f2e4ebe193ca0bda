import { setTimeout } from 'node:timers/promises';
import type { Browser, Locator } from 'playwright-core';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { type ObservedPage, startBrowser } from '../support/browser';
import { faultsOf, LOOKS, signedIn } from '../support/console';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const SETTLED_MS = 120_000;
/** A name that runs in pages which take names for HTML. */
const HOSTILE = '<img src=x onerror="document.title=\'taken\'">';
const SEARCHED = { width: 1_280, height: 900 };

/** As a person does a double click: the answer to the first press has come when the second one is made. */
async function pressTwice(button: Locator): Promise<void> {
  await button.scrollIntoViewIfNeeded();
  const box = await button.boundingBox();
  if (!box) throw new Error('The button is not shown');
  const { mouse } = button.page();
  await mouse.click(box.x + box.width / 2, box.y + box.height / 2);
  await setTimeout(300);
  await mouse.down({ clickCount: 2 });
  await mouse.up({ clickCount: 2 });
  await setTimeout(500);
}

describe('campaigns in the console, of the whole program', () => {
  let browser: Browser;
  let here: Installation;
  let listId: string;
  let templateId: string;
  const opened: ObservedPage[] = [];

  beforeAll(async () => {
    browser = await startBrowser();
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '10' });
    listId = await createList(here.api, 400);
    templateId = await createSmsTemplate(here.api);
  }, 180_000);
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });
  afterAll(async () => {
    await browser?.close();
    await here?.remove();
  });

  async function open(path: string, options = {}): Promise<ObservedPage> {
    const one = await signedIn(browser, here.fanfare.baseUrl, here.credentials.user, {
      viewport: SEARCHED,
      ...options,
    });
    opened.push(one);
    await one.page.goto(`${here.fanfare.baseUrl}/console${path}`);
    return one;
  }
  const create = (more: Record<string, unknown> = {}) =>
    createSmsCampaign(here.api, listId, templateId, more);

  test('a campaign is made, dry-run, started, seen to move, paused and resumed', async () => {
    const { page, complaints } = await open('/new-campaign');
    await page.getByLabel('Name', { exact: true }).fill('Spring sale');
    await page.getByLabel(/^list p/).check();
    await page.getByRole('checkbox', { name: 'SMS' }).check();
    await page.getByRole('checkbox', { name: 'Email' }).uncheck();
    await page.getByLabel('Number or name of the sender').fill('12345');
    await page.getByLabel('SMS template').selectOption(templateId);
    await page.getByLabel('At most, in recipients a second').fill('40');
    // What was typed is still there after a reload.
    await page.reload();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Spring sale');
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByRole('heading', { name: 'Check before it goes' }).waitFor();
    await page.getByText('400 messages would be sent.').waitFor();
    await page.getByRole('button', { name: 'Start' }).click();

    await page.getByRole('heading', { name: 'Spring sale', level: 1 }).waitFor();
    const id = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    const delivered = page.getByRole('listitem').filter({ hasText: 'Delivered' }).locator('.number').first();
    const count = async () => Number((await delivered.textContent())?.replace(/\D/g, ''));
    await delivered.waitFor();
    const first = await count();
    await until('the bars move by themselves', async () => (await count()) > first);

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.badge', { hasText: 'Paused' }).waitFor();
    expect((await campaignDetail(here.api, id)).phase).toBe('paused');
    await page.goto(`${here.fanfare.baseUrl}/console/campaigns`);
    await page
      .getByRole('row', { name: 'Spring sale' })
      .getByText(/% done/)
      .waitFor();
    await page.getByRole('link', { name: 'Spring sale' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await untilPhase(here.api, id, ['completed'], SETTLED_MS);
    await page.locator('.badge', { hasText: 'Completed' }).waitFor();
    expect(complaints.filter((one) => !/404/.test(one))).toEqual([]);
    await page.goto(`${here.fanfare.baseUrl}/console/new-campaign`);
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('');
  }, 240_000);

  test('one person is found among the recipients, with the whole story; one who was left out, with the reason', async () => {
    const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: 'with one who has no phone',
    });
    await here.api.expect('POST', `/api/contact-list/${data.id}/contacts`, {
      contacts: [{ email: 'no-phone@example.com', name: 'No Phone' }],
    });
    const id = await create({ contactListId: [listId, data.id] });
    await untilPhase(here.api, id, ['completed'], SETTLED_MS);
    const { page } = await open(`/campaigns/${id}/recipients`);
    await page.getByLabel('Search').fill('+12022000123');
    await until(
      'one row is left',
      async () => (await page.locator('.people-space .people-row').count()) === 1,
    );
    await page.getByRole('link', { name: '+12022000123' }).click();
    await page.getByRole('heading', { name: '+12022000123' }).waitFor();
    await page.getByText('Handed to the carrier').waitFor();

    await page.getByRole('link', { name: 'All recipients' }).click();
    await page.getByLabel('Search').fill('no-phone@example.com');
    await page.getByText('Left out: No address for this channel').waitFor();
    // Without its country code it is no address, and says nothing of the person.
    await page.getByLabel('Search').fill('99920001');
    await page.getByText('a phone number with its country code').waitFor();
  }, 240_000);

  test('where all were refused, sending again is offered by their code alone', async () => {
    const recipients = [{ phone: '+12125550191', name: 'Ann' }];
    const id = await create({ contactListId: [], recipients });
    await untilPhase(here.api, id, ['completed'], SETTLED_MS);
    const { page } = await open(`/campaigns/${id}`);
    await page
      .getByRole('row', { name: /Rejected/ })
      .getByRole('button', { name: 'Send again' })
      .waitFor();
    expect(await page.getByRole('button', { name: 'Send again to those who failed' }).count()).toBe(0);
  }, 240_000);

  test('a campaign that waits for a person to let its next stage go says so in place of its phase', async () => {
    const id = await create({ release: { stages: [{ recipients: 5 }] } });
    const { page } = await open(`/campaigns/${id}`);
    const head = page.locator('.heading');
    await page.getByRole('button', { name: 'Let the next stage go' }).waitFor({ timeout: SETTLED_MS });
    expect(await head.textContent()).toContain('Waits until you let the next stage go.');
    expect(await head.textContent()).not.toContain('Messages leave now.');
    await here.api.expect('POST', `/api/campaign/${id}/cancel`, {});
  }, 240_000);

  test('hostile names are text, in lists and on pages', async () => {
    const id = await create({ name: HOSTILE, start: false });
    const { page, complaints } = await open('/campaigns');
    await page.getByLabel('Search').fill('onerror');
    await page.getByRole('link', { name: HOSTILE }).click();
    await page.getByRole('heading', { name: HOSTILE, level: 1 }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/console/campaigns/${id}`);
    expect(await page.title()).toContain(HOSTILE);
    expect(complaints.filter((one) => !/404/.test(one))).toEqual([]);
  }, 120_000);

  test('what is made wrongly says so at its place, and nothing typed is lost', async () => {
    const { page } = await open('/new-campaign');
    await page.getByLabel('Name', { exact: true }).fill('Half done');
    await page.getByRole('button', { name: 'Dry run' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('settings.email');
    expect(await page.getByRole('alert').textContent()).toContain('Request id');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Half done');
  }, 120_000);

  test('everything is stopped and let go on, from Home', async () => {
    const { page } = await open('/');
    await page.getByRole('button', { name: 'Stop everything' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('wrong price');
    await dialog.getByRole('button', { name: 'Stop everything' }).click();
    await page.getByText('Reason: wrong price').waitFor();
    await page.getByRole('button', { name: 'Let everything go on' }).click();
    await page.getByRole('button', { name: 'Stop everything' }).waitFor();
  }, 120_000);

  test.each(LOOKS)(
    'every page around campaigns is accessible: $name',
    async ({ options }) => {
      const id = await create({ release: { stages: [{ percent: 50 }] } });
      await untilPhase(here.api, id, ['running', 'completed'], SETTLED_MS);
      const one = await open('/', options);
      for (const path of [
        ...['/', '/campaigns', '/new-campaign', `/campaigns/${id}`],
        ...[`/campaigns/${id}/recipients`, `/campaigns/${id}/settings`],
      ]) {
        await one.page.goto(`${here.fanfare.baseUrl}/console${path}`);
        await one.page.locator('h1').waitFor();
        await until('all is loaded', async () => (await one.page.locator('.skeleton').count()) === 0);
        expect({ path, faults: await faultsOf(one) }).toEqual({ path, faults: [] });
      }
      await one.page.goto(`${here.fanfare.baseUrl}/console/campaigns/${id}`);
      await one.page.getByRole('button', { name: 'Cancel for good' }).click();
      await one.page.getByRole('dialog').waitFor();
      expect(await faultsOf(one)).toEqual([]);
      await one.page.keyboard.press('Escape');
      expect(await one.page.locator(':focus').textContent()).toBe('Cancel for good');
    },
    240_000,
  );

  test('pausing is at hand on each part of a campaign, on a phone too, and a double click pauses', async () => {
    const id = await create({ name: 'In a hurry', delivery: { ratePerSecond: 1 } });
    const phone = { viewport: { width: 360, height: 740 } };
    for (const part of ['', '/recipients', '/settings']) {
      const { page } = await open(`/campaigns/${id}${part}`, phone);
      const pause = page.getByRole('button', { name: 'Pause' });
      await pause.waitFor();
      expect((await pause.boundingBox())?.y).toBeLessThan(phone.viewport.height / 2);
    }
    const onPage = (await open(`/campaigns/${id}`)).page.getByRole('button', { name: /^(Pause|Resume)$/ });
    const home = (await open('/')).page.locator('.card', { hasText: 'In a hurry' });
    const onHome = home.getByRole('button', { name: /^(Pause|Resume) In a hurry$/ });
    for (const button of [onPage, onHome]) {
      await button.waitFor();
      await pressTwice(button);
      await until('the button says what happened', async () =>
        (await button.textContent())?.startsWith('Resume'),
      );
      expect((await campaignDetail(here.api, id)).phase).toBe('paused');
      expect(await button.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
      await button.click();
      await untilPhase(here.api, id, ['running'], SETTLED_MS);
    }
    await here.api.expect('POST', `/api/campaign/${id}/cancel`, {});
  }, 240_000);

  test('pages survive a restart of the server without a reload', async () => {
    const id = await create({ name: 'Outlives it', delivery: { ratePerSecond: 1 } });
    const [{ page }, { page: home }, { page: people }] = await Promise.all([
      open(`/campaigns/${id}`),
      open('/'),
      open(`/campaigns/${id}/recipients`),
    ]);
    const ofHome = home.locator('.card', { hasText: 'Outlives it' });
    await page.locator('.badge', { hasText: 'Running' }).waitFor();
    await ofHome.getByRole('button', { name: 'Pause' }).waitFor();
    await people.locator('.people-space .people-row').first().waitFor();
    const reloads: string[] = [];
    for (const one of [page, home, people]) one.on('framenavigated', (frame) => reloads.push(frame.url()));
    await here.fanfare.stop();
    for (const one of [page, home, people]) await one.getByText('Fanfare does not answer').waitFor();
    await here.run();
    for (const one of [page, home, people])
      await one.getByText('Fanfare does not answer').waitFor({ state: 'detached' });
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.locator('.badge', { hasText: 'Paused' }).waitFor();
    await ofHome.locator('.badge', { hasText: 'Paused' }).waitFor();
    await people.locator('.badge', { hasText: 'Paused' }).first().waitFor();
    expect(reloads).toEqual([]);
  }, 300_000);
});
