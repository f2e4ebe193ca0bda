import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runFanfare } from '../support/fanfare-command';

/** Proves that a command line which does not say what its writer means is refused before anything is asked of an instance. */

describe('a command', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fanfare-misused-'));
  afterAll(() => rmSync(dataDir, { recursive: true }));
  const fanfare = (...args: string[]) => runFanfare(args, { FANFARE_DATA_DIR: dataDir }).ended;
  /** With an instance to ask, which would not answer. */
  const fanfareAsClient = (...args: string[]) =>
    runFanfare(args, {
      ...{ FANFARE_DATA_DIR: dataDir, FANFARE_APP_URL: 'http://127.0.0.1:1' },
      ...{ FANFARE_CLIENT_ID: 'x', FANFARE_CLIENT_SECRET: 'x' },
    }).ended;

  test.each([
    // From a variable of the shell that is not set, which would lift the block for every sender.
    [['suppression', 'lift', 'ada@example.com', '--sender', '']],
    [['suppression', 'add', 'ada@example.com', '--sender', ' ']],
    [['audit', 'export', '--from', '']],
    [['contacts', 'list', '--search=']],
    [['campaign', 'retry-failed', 'cmp_1', '--code', 'sms_4', '']],
  ])('refuses an option whose value is empty: %j', async (args) => {
    expect(await fanfare(...args)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^error: option '--\w+ <.*>' has an empty value/),
    });
  });

  test('refuses an argument that is empty, and says which', async () => {
    for (const args of [
      ['contacts', 'erase', ''],
      ['webhook', 'redeliver', 'whk_1', ' '],
    ])
      expect(await fanfare(...args)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/^error: argument '(id|delivery)' is empty/),
      });
  });

  test.each([
    [['stop', '--reason', '--status']],
    [['stop', '--reason', '--end']],
    [['webhook', 'create', 'https://shop.example/hook', '--event', '--json']],
    [['contacts', 'list', '--search', '--help']],
  ])('takes no option of its own for a value: %j', async (args) => {
    expect(await fanfare(...args)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^error: option '--\w+ <.*>' argument missing/),
    });
  });

  test('refuses an option that is given twice with different values, unless it takes several', async () => {
    const twice = await fanfare('message', 'list', '--state', 'failed', '--state', 'undelivered', '--json');
    expect([twice.code, twice.err]).toEqual([
      2,
      expect.stringContaining("error: option '--state <state>' is given twice, as failed and undelivered"),
    ]);
    expect(JSON.parse(twice.out)).toMatchObject({ result: 'error', code: 'usage' });
    for (const args of [
      ['message', 'list', '--state', 'failed', '--state', 'failed', '--json', '--json'],
      ['campaign', 'retry-failed', 'cmp_1', '--code', 'a', '--code', 'b'],
    ])
      expect((await fanfare(...args)).err).toContain('Nothing says where the instance is');
    const send = ['campaign', 'send', '--channel', 'sms', '--template', 'x', '--from', '1', '--to', '+1202'];
    expect(await fanfareAsClient(...send, '--param', 'code=A', 'other=', 'code=B')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--param code is given two values'),
    });
  });

  test('refuses a pace that is none, and says what it must be', async () => {
    for (const pace of ['fast', '0', '-1', '1,5'])
      expect(await fanfare('campaign', 'pace', 'cmp_1', pace)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/^error: .*'per-second'.* It must be a number up to \d+, or "off"\./),
      });
    expect((await fanfare('campaign', 'pace', 'cmp_1', 'off')).err).toContain('where the instance is');
  });

  test('refuses a number of entries that there cannot be', async () => {
    for (const limit of ['all', '0', '2.5', '201'])
      expect(await fanfare('contacts', 'timeline', 'con_1', '--limit', limit)).toMatchObject({
        code: 2,
        err: expect.stringMatching(/^error: .*'--limit <n>'.* It must be a whole number from 1 to 200\./),
      });
    expect((await fanfare('contacts', 'timeline', 'con_1', '--limit', '200')).err).toContain(
      'where the instance is',
    );
  });

  test('refuses a part of the recipients without a file to write them to', async () => {
    for (const part of [
      ['--state', 'failed'],
      ['--channel', 'sms'],
    ])
      expect(await fanfareAsClient('campaign', 'report', 'cmp_1', ...part)).toMatchObject({
        code: 2,
        err: expect.stringContaining('--csv <file>'),
      });
  });

  test('refuses a version of a template that is a file, which has none', async () => {
    const file = join(dataDir, 'order.json');
    writeFileSync(file, JSON.stringify({ channel: 'sms', templateName: 'order', body: 'Hello' }));
    expect((await fanfare('template', 'preview', file)).code).toBe(0);
    expect(await fanfare('template', 'preview', file, '--version', '3')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('--version'),
    });
  });
});
