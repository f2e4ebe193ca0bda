import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { writeCredentials } from '../../src/credentials/credentials';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { runFanfare } from '../support/fanfare-command';
import { describeWithDatabase } from '../support/storage';

const TIMEOUT_MS = 150_000;

describeWithDatabase('fanfare campaign send', (database) => {
  let api: WholeApi;
  let db: Kysely<CampaignTables>;
  let dataDir: string;
  let headers: Record<string, string>;

  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<CampaignTables>();
    api = await startWholeApi(storage);
    const workspace = await newWorkspace(api.identity);
    headers = { authorization: await bearerFor(api.identity, workspace) };
    dataDir = mkdtempSync(join(tmpdir(), 'fanfare-send-'));
    await writeCredentials(dataDir, { ...workspace, baseUrl: api.url });
    const sms = { templateName: 'Order ready', channel: 'sms', body: 'Old' };
    const { template } = (await api.call('POST', '/api/template', { body: sms, headers })).body;
    const body = { ...sms, body: 'Hello {{NAME}}, {{TOTAL}}' };
    await api.call('PUT', `/api/template/${template.id}`, { body, headers });
  });
  afterAll(async () => {
    await api.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const fanfare = (args: string[]) => runFanfare(args, { FANFARE_DATA_DIR: dataDir }).ended;
  const SMS = ['--channel', 'sms', '--template', 'Order ready', '--from', '12345'];
  const send = (...args: string[]) => fanfare(['campaign', 'send', ...SMS, ...args]);
  const fileOf = (name: string, content: string) => {
    writeFileSync(join(dataDir, name), content);
    return join(dataDir, name);
  };
  const idIn = (out: string) => /cmp_\w+/.exec(out)?.[0] ?? '';
  const read = async (id: string) => (await api.call('GET', `/api/campaign/${id}`, { headers })).body.data;
  const audienceOf = (id: string) =>
    db
      .selectFrom('campaigns as c')
      .innerJoin('contact_list_members as m', 'm.list_id', 'c.own_list_id')
      .innerJoin('contacts as p', 'p.id', 'm.contact_id')
      .select(['p.phone', 'p.name', 'm.params'])
      .where('c.id', '=', id)
      .orderBy('p.phone')
      .execute();
  const campaigns = async () =>
    (await api.call('GET', '/api/campaign?page=1&limit=100&channel=sms', { headers })).body.data as {
      id: string;
      phase: string;
    }[];

  test(
    'a few addresses get the newest version of a template, with values for all of them',
    async () => {
      const values = ['--param', 'NAME=Ann', '--param', 'TOTAL=a=b'];
      const sent = await send('--to', '+12025550101', '(202) 555-0102', '--country', 'US', ...values);
      expect([sent.code, sent.err]).toEqual([0, '']);
      expect(sent.out).toMatch(
        /^Campaign cmp_\w+ is planning; follow it with `fanfare campaign watch cmp_\w+`\.\n/,
      );
      const id = idIn(sent.out);
      expect(await read(id)).toMatchObject({
        ...{ name: 'Order ready', phase: 'planning', inline: 2, contactListId: [] },
        ...{ params: { NAME: 'Ann', TOTAL: 'a=b' }, settings: { sms: { shortCode: '12345', version: 2 } } },
      });
      expect((await audienceOf(id)).map(({ phone }) => phone)).toEqual(['+12025550101', '+12025550102']);
    },
    TIMEOUT_MS,
  );

  test(
    'a JSON file has recipients with values of their own; wrong rows refuse it, or are left out',
    async () => {
      const rows = [
        { phone: '+12025550111', name: 'Ada', params: { TOTAL: 12 } },
        { phone: 'none', name: 'Wrong' },
        { phone: '+12025550112', name: 'Bo', params: { TOTAL: 8 } },
      ];
      const file = fileOf('people.json', JSON.stringify(rows));
      const before = (await campaigns()).length;
      const refused = await send('--to', file);
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('recipients.1.phone')]);
      expect(await campaigns()).toHaveLength(before);
      const sent = await send('--to', file, '--skip-invalid', '--name', 'Friday');
      expect([sent.code, sent.out]).toEqual([0, expect.stringContaining('  left out: row 2: phone ')]);
      const id = idIn(sent.out);
      expect(await read(id)).toMatchObject({ name: 'Friday', inline: 2 });
      expect(await audienceOf(id)).toEqual([
        { phone: '+12025550111', name: 'Ada', params: { TOTAL: 12 } },
        { phone: '+12025550112', name: 'Bo', params: { TOTAL: 8 } },
      ]);
    },
    TIMEOUT_MS,
  );

  test.each([
    ['csv', 'phone,name,total\n+12025550121,Cy,1\nnone,Di,2\n+12025550122,Ed,3\n'],
    [
      'ndjson',
      '{"phone":"+12025550121","name":"Cy","params":{"TOTAL":1}}\n{"phone":"none"}\n{"phone":"+12025550122","name":"Ed"}\n',
    ],
  ])(
    'a .%s file is streamed into a draft, which starts when every row is right, or with --skip-invalid',
    async (type, content) => {
      const file = fileOf(`people.${type}`, content);
      const refused = await send('--to', file);
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringMatching(/1 of 3 rows are wrong; nothing was sent\n {2}line \d: phone /),
      ]);
      const draft = idIn(refused.err);
      expect(await read(draft)).toMatchObject({ phase: 'draft', inline: 2 });
      const sent = await send('--to', file, '--skip-invalid', '--json');
      const printed = JSON.parse(sent.out);
      expect(printed).toMatchObject({ phase: 'planning', rejected: 1 });
      expect((await audienceOf(printed.id)).map(({ phone }) => phone)).toEqual([
        '+12025550121',
        '+12025550122',
      ]);
    },
    TIMEOUT_MS,
  );

  test(
    'a file without a right row names every wrong one, also with --skip-invalid',
    async () => {
      const csv = fileOf('wrong.csv', 'phone,name\nnone,Cy\nnone,Di\n');
      const refused = await send('--to', csv, '--skip-invalid');
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringMatching(
          /2 of 2 rows are wrong; nothing was sent\n {2}line 2: phone .*\n {2}line 3: phone .*\nCorrect .* cmp_\w+ is left without/,
        ),
      ]);
      expect(await read(idIn(refused.err))).toMatchObject({ phase: 'draft', inline: 0 });
    },
    TIMEOUT_MS,
  );

  test(
    'a file that is refused as a whole is named with the reason and with the draft that is left',
    async () => {
      const refused = await send('--to', fileOf('unnamed.csv', 'Telefon;Name\n+12025550121;Cy\n'));
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringMatching(
          /unnamed\.csv is refused; nothing was sent\n {2}.*email or phone\nCorrect it .*cmp_/,
        ),
      ]);
      expect(await read(idIn(refused.err))).toMatchObject({ phase: 'draft' });
    },
    TIMEOUT_MS,
  );

  test(
    'nothing is created for a template that is not there, a value without a name, or a file that is not there or no array',
    async () => {
      const before = (await campaigns()).length;
      const unknown = await fanfare([
        ...['campaign', 'send', '--channel', 'email', '--template', 'Order ready'],
        ...['--from', 'a@example.com', '--to', 'b@example.com'],
      ]);
      expect([unknown.code, unknown.err]).toEqual([
        1,
        expect.stringContaining('There is no email template called Order ready'),
      ]);
      const nameless = await send('--to', '+12025550101', '--param', 'NAME');
      expect([nameless.code, nameless.err]).toEqual([
        2,
        expect.stringContaining('--param NAME has no value'),
      ]);
      for (const name of ['more.csv', 'more.json']) {
        const among = await send('--to', '+12025550101', fileOf(name, ''));
        expect([among.code, among.err]).toEqual([
          2,
          expect.stringContaining(`${name} is given beside others`),
        ]);
      }
      const object = await send('--to', fileOf('object.json', '{}'));
      expect([object.code, object.err]).toEqual([1, expect.stringContaining('holds no array')]);
      const missing = await send('--to', join(dataDir, 'none.csv'));
      expect([missing.code, missing.err]).toEqual([
        1,
        expect.stringContaining('none.csv cannot be read: ENOENT'),
      ]);
      const without = await fanfare(['campaign', 'send', ...SMS]);
      expect(without.code).toBe(2);
      expect(await campaigns()).toHaveLength(before);
    },
    TIMEOUT_MS,
  );
});
