/** Proves that marketing mail does not start where the links in it would not be https. */

import { createCampaigns } from '../../src/campaigns/campaigns';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { readConfig } from '../../src/config';
import { campaignControlRoutes } from '../../src/http/campaign-control';
import { campaignRoutes } from '../../src/http/campaigns';
import { createLog } from '../../src/log';
import { describeWithDatabase } from '../support/storage';
import { startServer, type TestServer } from './campaigns-server';

const SMTP = { FANFARE_EMAIL_PROVIDER: 'smtp', FANFARE_SMTP_URL: 'smtp://mx.example.org' };
const HTTPS = { FANFARE_PUBLIC_URL: 'https://news.example.org' };

describe('links in mail by smtp', () => {
  test.each([
    ['no public address', SMTP, 'refused'],
    ['a public address without https', { ...SMTP, FANFARE_PUBLIC_URL: 'http://news.example.org' }, 'refused'],
    ['a public address with https', { ...SMTP, ...HTTPS }, 'taken'],
    ['the operator’s word', { ...SMTP, FANFARE_INSECURE_LINKS: 'true' }, 'taken'],
    ['another provider', {}, 'taken'],
  ])('with %s, marketing mail is judged', (_what, environment, judged) => {
    expect(readConfig(environment).insecureLinks === undefined ? 'taken' : 'refused').toBe(judged);
  });
});

describeWithDatabase('campaigns where links would not be https', (database) => {
  let server: TestServer;
  let list: string;

  beforeAll(async () => {
    const db = (await database.open()).tables<CampaignTables>();
    const campaigns = createCampaigns({
      db,
      templates: { find: async (_w, _c, name, version) => ({ name, version, placeholders: [] }) },
      launcher: { launch: async () => undefined, controlChanged: async () => undefined },
      insecureLinks: readConfig(SMTP).insecureLinks,
      log: createLog('silent'),
    });
    server = await startServer(db, [
      (app) => campaignRoutes(app, { campaigns }),
      (app) => campaignControlRoutes(app, { campaigns }),
    ]);
    list = (await server.call('POST', '/api/contact-list', { name: 'Readers' })).body.data.id;
  });
  afterAll(() => server.close());

  const create = (more: object, path = '/api/campaign') =>
    server.call('POST', path, {
      ...{ campaignId: null, name: 'News', channel: ['email'], contactListId: [list] },
      settings: { email: { fromEmail: 'news@example.org', templateId: 't_mail', version: 1 } },
      ...more,
    });

  test('marketing mail does not start, when it is created or later', async () => {
    const refused = await create({});
    expect([refused.status, refused.body.code]).toEqual([422, 'insecure_links']);
    expect(refused.body.message).toContain('FANFARE_PUBLIC_URL');
    const draft = await create({ start: false });
    expect(draft.status).toBe(201);
    const started = await server.call('POST', `/api/campaign/${draft.body.data.id}/start`);
    expect([started.status, started.body.code]).toEqual([422, 'insecure_links']);
  });

  test('a dry run is refused as its start would be, and an edit that leaves a draft a draft is taken', async () => {
    const tried = await create({}, '/api/campaign/dry-run');
    expect([tried.status, tried.body.code]).toEqual([422, 'insecure_links']);
    expect((await create({ start: false }, '/api/campaign/dry-run')).status).toBe(200);
    const campaignId = (await create({ start: false })).body.data.id;
    expect((await create({ campaignId }, '/api/campaign/dry-run')).status).toBe(200);
    const edited = await create({ campaignId, name: 'Better news' });
    expect([edited.status, edited.body.data]).toMatchObject([200, { name: 'Better news', phase: 'draft' }]);
    expect((await create({ campaignId, start: true })).status).toBe(422);
  });

  test('transactional mail and other channels start', async () => {
    expect((await create({ class: 'transactional' })).status).toBe(201);
    const settings = { sms: { shortCode: '12345', templateId: 't_text', version: 1 } };
    expect((await create({ channel: ['sms'], settings })).status).toBe(201);
  });
});
