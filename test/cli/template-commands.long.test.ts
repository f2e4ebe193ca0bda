/** Proves that templates can be pulled to files, pushed back and previewed. */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCampaigns } from '../../src/campaigns/campaigns';
import { createContactLists } from '../../src/campaigns/contacts/contact-lists';
import { createContactParams } from '../../src/campaigns/contacts/fill-params';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { writeCredentials } from '../../src/credentials/credentials';
import { campaignControlRoutes } from '../../src/http/campaign-control';
import { campaignRecipientRoutes } from '../../src/http/campaign-recipients';
import { campaignRunRoutes } from '../../src/http/campaign-runs';
import { campaignRoutes } from '../../src/http/campaigns';
import { contactListRoutes } from '../../src/http/contact-lists';
import { templateTrialRoutes } from '../../src/http/template-trials';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createTemplateVersions } from '../../src/messaging/templates/template-versions';
import { createTemplates } from '../../src/messaging/templates/templates';
import type { Storage } from '../../src/storage/storage';
import { startService, type TestService } from '../http/service';
import { runFanfare } from '../support/fanfare-command';
import { describeWithDatabase } from '../support/storage';

const TIMEOUT_MS = 150_000;

const FLOW = {
  nodes: [
    { id: 'a', type: 'start', data: { isStart: true }, position: { x: 0, y: 0 } },
    { id: 'b', type: 'say', data: { text: 'Hello {{NAME}}' }, position: { x: 0, y: 1 } },
  ],
  edges: [{ id: 'e', source: 'a', target: 'b' }],
  viewport: { x: 0, y: 0, zoom: 1 },
};
const LAYOUT = {
  root: { type: 'EmailLayout', data: { childrenIds: ['text'] } },
  text: { type: 'Text', data: { props: { text: 'Hello {{NAME}}' }, editor: { color: 'kept' } } },
};

describeWithDatabase('fanfare template, and campaigns from files', (database) => {
  let storage: Storage;
  let service: TestService;
  let directory: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-template-'));
    storage = await database.open();
    const db = storage.tables<CampaignTables>();
    const messagingDb = storage.tables<MessagingTables>();
    const templates = createTemplates({ db: messagingDb, versions: createTemplateVersions(messagingDb) });
    const campaigns = createCampaigns({
      db,
      templates: {
        find: async (_workspace, _channel, id, version) => ({ name: id, version, placeholders: ['NAME'] }),
      },
      launcher: { launch: async () => undefined, controlChanged: async () => undefined },
      log: createLog('silent'),
    });
    service = await startService(messagingDb, {
      routes: [
        (scope) => contactListRoutes(scope, { contactLists: createContactLists({ db }) }),
        (scope) => campaignRoutes(scope, { campaigns }),
        (scope) => campaignControlRoutes(scope, { campaigns }),
        (scope) => campaignRunRoutes(scope, { campaigns }),
        (scope) => campaignRecipientRoutes(scope, { campaigns }),
        templateTrialRoutes({
          templates,
          contactParams: createContactParams({ db }),
          delivery: { accept: () => Promise.reject(new Error('nothing is sent here')) },
          stops: { read: () => Promise.reject(new Error('nothing is sent here')) },
          isUserAddress: async () => true,
        }),
      ],
    });
    await writeCredentials(directory, { ...service.workspace, baseUrl: service.url });
  });
  afterAll(async () => {
    await service.app.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const fanfare = (args: string[], input = '') =>
    runFanfare(args, { FANFARE_DATA_DIR: directory }, input).ended;
  const inDir = (name: string) => join(directory, name);
  const write = (file: string, content: unknown) => {
    mkdirSync(join(inDir(file), '..'), { recursive: true });
    writeFileSync(inDir(file), typeof content === 'string' ? content : JSON.stringify(content));
  };
  const call = (method: string, path: string, body?: unknown) =>
    service.call(method, path, { headers: { authorization: service.bearer }, body });
  const outcomes = (out: string) => JSON.parse(out).map((one: { outcome: string }) => one.outcome);

  test(
    'templates are pushed once, pulled as they are, and pushed again without a new version',
    async () => {
      write('one/sms/doors.json', { channel: 'sms', templateName: 'Doors ö/..' });
      // As an editor of Windows saves it.
      write('one/sms/doors.txt', '\uFEFFDoors open, {{NAME}}.\r\n');
      write('one/email/hello.json', {
        ...{ channel: 'email', templateName: 'Hello', subject: 'Hi {{NAME}}', template: LAYOUT },
      });
      write('one/voice/call.json', { channel: 'voice', templateName: 'Call', voiceJson: FLOW });
      write('one/both.json', { channel: 'email', templateName: 'Both', subject: 'S', body: '<p>x</p>\n\n' });
      const push = (path: string) => fanfare(['template', 'push', inDir(path), '--json']);
      const first = await push('one');
      expect([first.code, first.err, outcomes(first.out)]).toEqual([0, '', Array(4).fill('created')]);
      expect(outcomes((await push('one')).out)).toEqual(Array(4).fill('unchanged'));

      const pulled = await fanfare(['template', 'pull', inDir('two'), '--json']);
      expect([pulled.code, outcomes(pulled.out)]).toEqual([0, Array(4).fill('written')]);
      expect(readdirSync(inDir('two/sms')).sort()).toEqual(['doors-o.json', 'doors-o.txt']);
      expect(readFileSync(inDir('two/sms/doors-o.txt'), 'utf8')).toBe('Doors open, {{NAME}}.\n');
      expect(readFileSync(inDir('two/email/both.html'), 'utf8')).toBe('<p>x</p>\n\n\n');
      expect(JSON.parse(readFileSync(inDir('two/email/hello.json'), 'utf8')).template).toEqual(LAYOUT);
      expect(outcomes((await push('two')).out)).toEqual(Array(4).fill('unchanged'));
      const again = await fanfare(['template', 'pull', inDir('two'), '--json']);
      expect(outcomes(again.out)).toEqual(Array(4).fill('unchanged'));
      // Where a template is already, whatever the file is called, it is pulled to.
      await fanfare(['template', 'pull', inDir('one')]);
      expect(readdirSync(inDir('one/sms')).sort()).toEqual(['doors.json', 'doors.txt']);

      write('two/sms/doors-o.txt', 'Doors open at seven, {{NAME}}.\n');
      const changed = await fanfare(['template', 'push', inDir('two')]);
      expect(changed.out).toMatch(/^updated {4}sms Doors ö\/\.\., version 2 \(tpl_\w+\)$/m);
      const bodyless = inDir('two/email/hello.html');
      expect(existsSync(bodyless)).toBe(true);
    },
    TIMEOUT_MS,
  );

  test(
    'a directory that cannot be written is named, with what to do',
    async () => {
      write('file', 'no directory');
      const pulled = await fanfare(['template', 'pull', inDir('file/templates')]);
      expect([pulled.code, pulled.out]).toEqual([1, '']);
      expect(pulled.err).toMatch(/^fanfare: .*templates.* cannot be written: ENOTDIR\nName a directory/);
    },
    TIMEOUT_MS,
  );

  test(
    'a template that is refused stops no other, and its findings are told',
    async () => {
      write('bad/sms/a.json', { channel: 'sms', templateName: 'A', body: `{{${'N'.repeat(70)}}}` });
      write('bad/sms/b.json', { channel: 'sms', templateName: 'B', body: 'fine' });
      write('bad/sms/c.json', '{');
      const { code, out, err } = await fanfare(['template', 'push', inDir('bad')]);
      expect([code, err]).toEqual([1, '']);
      expect(out).toMatch(
        /^refused {4}.+a\.json\n {2}body: .+\ncreated {4}sms B, .+\nrefused {4}.+c\.json\n/,
      );
      const nothing = await fanfare(['template', 'push', inDir('none')]);
      expect([nothing.code, nothing.err]).toEqual([1, expect.stringContaining('ENOENT')]);
    },
    TIMEOUT_MS,
  );

  test(
    'a preview prints the parts, of what is stored and of what is only a file',
    async () => {
      write('p/sms.json', { channel: 'sms', templateName: 'Preview', body: 'Hi {{NAME}}, {{CITY}}' });
      write('p/call.json', { channel: 'voice', templateName: 'Preview call', voiceJson: FLOW });
      write('p/values.json', { NAME: 'Ann ☎' });
      const values = ['--params', inDir('p/values.json')];
      const { out } = await fanfare(['template', 'push', inDir('p/sms.json'), '--json']);
      const [{ id }] = JSON.parse(out);
      const lines = [
        '── text',
        'Hi Ann ☎, {{CITY}}',
        '',
        '1 segment, ucs2',
        'Placeholders: NAME, CITY',
        'Without a value: CITY',
      ].join('\n');
      for (const source of [id, inDir('p/sms.json')]) {
        const shown = await fanfare(['template', 'preview', source, ...values]);
        expect([shown.code, shown.out]).toEqual([0, expect.stringContaining(lines)]);
      }
      const call = await fanfare(
        ['template', 'preview', inDir('p/call.json'), '--params', '-'],
        '{"NAME":"Al"}',
      );
      expect(call.out).toMatch(/── document\n<Response>.+── flow\nthe call\n.+say “Hello Al”/s);
      const json = await fanfare(['template', 'preview', id, '--json']);
      expect(JSON.parse(json.out)).toMatchObject({ channel: 'sms', missing: ['NAME', 'CITY'] });

      write('p/bad.json', { channel: 'sms', templateName: 'Bad', body: ' ' });
      const refused = await fanfare(['template', 'preview', inDir('p/bad.json')]);
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('would be refused')]);
      const usage = await fanfare(['template', 'preview', id, '--version', 'x']);
      expect(usage.code).toBe(2);
    },
    TIMEOUT_MS,
  );

  test(
    'a campaign is tried and created from a file, its template by name',
    async () => {
      write('c/t.json', { channel: 'sms', templateName: 'For a campaign', body: 'Hi {{NAME}}' });
      expect((await fanfare(['template', 'push', inDir('c/t.json')])).code).toBe(0);
      const list = (await call('POST', '/api/contact-list', { name: 'From a file' })).body.data.id;
      await call('POST', `/api/contact-list/${list}/contacts`, {
        contacts: [{ name: 'Ann', phone: '+12025550190' }, { phone: '+12025550191' }],
      });
      const campaign = (templateName: string) => ({
        ...{ name: 'From a file', channel: ['sms'], contactListId: [list], start: false },
        settings: { sms: { shortCode: '12345', templateName } },
      });
      write('c/campaign.json', campaign('For a campaign'));
      const tried = await fanfare(['campaign', 'dry-run', inDir('c/campaign.json')]);
      expect([tried.code, tried.err, tried.out]).toEqual([
        0,
        '',
        expect.stringMatching(/^sms: 1 recipients of 2 contacts\n {2}1 skipped: missing params\n/),
      ]);
      const made = await fanfare(
        ['campaign', 'create', '-', '--json'],
        JSON.stringify(campaign('For a campaign')),
      );
      expect(made.err).toBe('');
      const { id, phase } = JSON.parse(made.out);
      expect([made.code, phase]).toEqual([0, 'draft']);
      const { data } = (await call('GET', `/api/campaign/${id}`)).body;
      expect(data.settings.sms).toMatchObject({ version: 1, templateId: expect.stringMatching(/^tpl_/) });

      write('c/unknown.json', campaign('Of nobody'));
      write('c/wrong.json', { name: 'x' });
      const failed = await Promise.all(
        ['c/unknown.json', 'c/wrong.json', 'c/none.json'].map((file) =>
          fanfare(['campaign', 'create', inDir(file)]),
        ),
      );
      expect(failed.map(({ code, err }) => [code, /no sms template|422|ENOENT/.exec(err)?.[0]])).toEqual([
        [1, 'no sms template'],
        [1, '422'],
        [1, 'ENOENT'],
      ]);
    },
    TIMEOUT_MS,
  );
});
