import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EXAMPLES } from '../../src/cli/examples';
import { writeCredentials } from '../../src/credentials/credentials';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { runFanfare } from '../support/fanfare-command';
import { describeWithDatabase } from '../support/storage';

/**
 * Proves what the commands for suppressions, messages, webhooks, users, clients, keys, workspaces, senders, contact lists
 * and templates do, as the built program runs them against a real server.
 */
const TIMEOUT_MS = 150_000;

describeWithDatabase('commands over HTTP', (database) => {
  let api: WholeApi;
  let dataDir: string;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    dataDir = mkdtempSync(join(tmpdir(), 'fanfare-resources-'));
    await writeCredentials(dataDir, { ...(await newWorkspace(api.identity)), baseUrl: api.url });
  });
  afterAll(async () => {
    await api?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** A line as it is typed, without blanks in its words. */
  const fanfare = (line: string) => runFanfare(line.split(' '), { FANFARE_DATA_DIR: dataDir }).ended;
  async function json<T = Record<string, unknown>>(line: string): Promise<T> {
    const { out, err, code } = await fanfare(`${line} --json`);
    expect([line, code, err]).toEqual([line, 0, '']);
    return JSON.parse(out) as T;
  }

  test(
    'suppressions are added, listed, exported, imported and lifted',
    async () => {
      const added = await json('suppression add ada@example.com --channel email --reason asked');
      expect(added).toMatchObject({ channel: 'email', address: 'ada@example.com', reason: 'asked' });
      expect((await fanfare('suppression list --channel email')).out).toMatch(
        /^channel +address +reason .*\nemail +ada@example.com +asked/,
      );
      const file = join(dataDir, 'suppressed.csv');
      await json(`suppression export ${file}`);
      expect(readFileSync(file, 'utf8')).toContain('ada@example.com');
      expect(await json('suppression lift ada@example.com --channel email')).toMatchObject({ removed: 1 });
      writeFileSync(file, 'channel,address,reason\nsms,+12025550188,left\n');
      expect(await json(`suppression import ${file}`)).toMatchObject({ created: 1 });
      expect(await json<unknown[]>('suppression list --limit 1')).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

  test(
    'messages are listed, shown and canceled, and held back by their tag',
    async () => {
      const own = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
      const headers = { authorization: await bearerFor(api.identity, own), 'x-api-key': own.apiKey };
      for (const uid of ['order-1', 'order-2', 'order-3']) {
        const message = {
          channel: 'email',
          uid,
          to: 'ada@example.com',
          from: 'shop@example.com',
          subject: 'Hi',
        };
        const sendAt = new Date(Date.now() + 3_600_000).toISOString();
        const { status } = await api.call('POST', '/send-msg', {
          headers,
          body: { ...message, body: 'Hi', sendAt },
        });
        expect(status).toBe(202);
      }
      const listed = await json<{ uid: string }[]>('message list --state scheduled --limit 2');
      expect(listed.map(({ uid }) => uid)).toEqual(['order-3', 'order-2']);
      expect((await fanfare('message show order-1')).out).toMatch(/^state +scheduled$/m);
      expect(await json('message cancel order-1')).toMatchObject({ state: 'canceled' });
      expect(await json('hold set spring')).toEqual({ campaign: 'spring', held: true });
      expect(await json('hold release spring')).toEqual({ campaign: 'spring', held: false });
    },
    TIMEOUT_MS,
  );

  test(
    'webhooks are created, disabled, tried and deleted',
    async () => {
      const { id, secret } = await json('webhook create https://hooks.example.com/fanfare --event message.*');
      expect(secret).toMatch(/^whsec_/);
      expect(await json(`webhook disable ${id}`)).toMatchObject({ enabled: false });
      expect(await json(`webhook enable ${id}`)).toMatchObject({ enabled: true });
      const delivery = await json(`webhook test ${id}`);
      expect(await json<unknown[]>(`webhook deliveries ${id}`)).toMatchObject([{ id: delivery.id }]);
      expect(await json(`webhook redeliver ${id}`)).toMatchObject({ redelivered: 0 });
      expect(await json(`webhook redeliver ${id} ${delivery.id}`)).toMatchObject({ id: delivery.id });
      expect((await json(`webhook rotate-secret ${id}`)).secret).not.toBe(secret);
      expect(await json<unknown[]>('webhook list')).toHaveLength(1);
      expect(await json(`webhook show ${id}`)).toMatchObject({ id });
      expect(await json(`webhook delete ${id}`)).toEqual({ id });
    },
    TIMEOUT_MS,
  );

  test(
    'users, clients and keys are administered',
    async () => {
      const user = await json('user create --email grace@example.com');
      expect(await json(`user role ${user.id} admin`)).toMatchObject({ role: 'admin' });
      expect(await json(`user disable ${user.id}`)).toMatchObject({ disabledAt: expect.any(String) });
      expect(await json(`user enable ${user.id}`)).toMatchObject({ disabledAt: null });
      expect((await json(`user password ${user.id}`)).password).toEqual(expect.any(String));
      expect(await json<unknown[]>('user list')).toHaveLength(2);
      const client = await json('client create --name Shop');
      expect((await json(`client rotate ${client.id} --overlap-hours 1`)).secret).not.toBe(client.secret);
      expect(await json(`client disable ${client.id}`)).toMatchObject({ disabledAt: expect.any(String) });
      expect(await json(`client enable ${client.id}`)).toMatchObject({ disabledAt: null });
      const key = await json('key create --name Shop');
      expect(await json(`key revoke ${key.id}`)).toMatchObject({ revokedAt: expect.any(String) });
      expect(await json<unknown[]>('key list')).not.toEqual([]);
      const made = await json('workspace create Second --email second@example.com');
      expect(made).toMatchObject({ workspace: { name: 'Second' }, apiKey: expect.any(String) });
      expect(await json<unknown[]>('workspace list --limit 1')).toMatchObject([{ name: 'Second' }]);
      expect((await fanfare('workspace list')).out).toMatch(/^id +name +createdAt\nws_\w+ +Second +\d{4}-/);
    },
    TIMEOUT_MS,
  );

  test(
    'a key and a client have the scopes that are asked for, with commas or spaces between them',
    async () => {
      const scopesOf = async (list: string, id: unknown) =>
        (await json<{ id: string; scopes: string[] }[]>(`${list} list`)).find((one) => one.id === id)?.scopes;
      for (const what of ['key', 'client']) {
        const named = `${what} create --name Shop`;
        for (const given of ['read,suppression:lift', 'read suppression:lift', 'read, suppression:lift']) {
          const { id } = await json(`${named} --scopes ${given}`);
          expect([what, given, await scopesOf(what, id)]).toEqual([
            what,
            given,
            ['read', 'suppression:lift'],
          ]);
        }
        const { id } = await json(named);
        expect(await scopesOf(what, id)).not.toContain('policy');
        for (const wrong of ['read,sned', 'read sned', 'Read', ',']) {
          const { code, err } = await fanfare(`${named} --scopes ${wrong}`);
          expect([wrong, code, err]).toEqual([
            wrong,
            2,
            expect.stringMatching(/Allowed choices are read, .*policy/),
          ]);
        }
        expect((await fanfare(`${what} create --help`)).out).toContain('without them all but');
      }
    },
    TIMEOUT_MS,
  );

  test(
    'commands use a new secret of the client of credentials.json by its variable alone',
    async () => {
      const own = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
      const withSecret = (secret: string) =>
        runFanfare(['campaign', 'list'], { FANFARE_DATA_DIR: dataDir, FANFARE_CLIENT_SECRET: secret }).ended;
      const { secret } = await json<{ secret: string }>(`client rotate ${own.client.id} --overlap-hours 1`);
      expect(await withSecret(secret)).toMatchObject({ code: 0, err: '' });
      expect((await withSecret(`${secret}x`)).code).toBe(1);
      const rotated = await fanfare(`client rotate ${own.client.id} --overlap-hours 0`);
      expect(rotated.out).toMatch(/campaigns .*credentials\.json: write .* restart/);
      const refused = await fanfare('campaign list');
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringMatching(/rotated, write .* credentials\.json/),
      ]);
      const [, last = ''] = /^secret +(\S+)$/m.exec(rotated.out) ?? [];
      await writeCredentials(dataDir, { ...own, client: { ...own.client, secret: last } });
      const other = await json<{ id: string }>('client create --name Other');
      expect((await fanfare(`client rotate ${other.id}`)).out).not.toContain('credentials.json');
    },
    TIMEOUT_MS,
  );

  test(
    'a revoked key of credentials.json is said to be replaced there',
    async () => {
      const own = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
      const keys = await json<{ id: string; prefix: string }[]>('key list');
      const { id } = keys.find(({ prefix }) => own.apiKey.startsWith(prefix)) ?? { id: '' };
      const { key } = await json<{ key: string }>('key create --name Another');
      expect((await fanfare(`key revoke ${id}`)).out).toMatch(
        /campaigns .*credentials\.json: write .* restart/,
      );
      const refused = await fanfare('message list');
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringMatching(/^Correct FANFARE_API_KEY, or write .* credentials\.json/m),
      ]);
      const other = await json<{ id: string }>('key create --name Other');
      expect((await fanfare(`key revoke ${other.id}`)).out).not.toContain('credentials.json');
      await writeCredentials(dataDir, { ...own, apiKey: key });
      expect((await fanfare('message list')).code).toBe(0);
    },
    TIMEOUT_MS,
  );

  test(
    'contact lists are created, renamed, listed and deleted, and their contacts listed and erased',
    async () => {
      const { id } = await json('contact-list create Customers');
      const file = join(dataDir, 'customers.csv');
      writeFileSync(file, 'email,name\nada@example.com,Ada\ngrace@example.com,Grace\n');
      expect((await fanfare(`contacts import ${id} ${file}`)).out).toContain('2 contacts created');
      expect(await json(`contact-list rename ${id} Readers`)).toMatchObject({ id, name: 'Readers' });
      expect((await fanfare('contact-list list --search read')).out).toMatch(/^lst_\w+ +Readers /m);
      expect(await json(`contact-list show ${id}`)).toMatchObject({ counts: { contacts: 2, withEmail: 2 } });
      const [one] = await json<{ id: string; email: string }[]>(`contacts list --list ${id} --limit 1`);
      expect(await json(`contacts show ${one?.id}`)).toMatchObject({ email: one?.email });
      expect(await json<unknown[]>('contacts list --search ada@')).toMatchObject([{ name: 'Ada' }]);
      expect(await json(`contacts erase ${one?.id}`)).toEqual({ id: one?.id });
      expect((await fanfare(`contacts show ${one?.id}`)).code).toBe(1);
      const other = await json('contact-list create Others');
      writeFileSync(file, 'email,name\nada.two@example.com,Ada\n');
      await fanfare(`contacts import ${other.id} ${file}`);
      expect(await json(`contact-list delete ${id}`)).toEqual({ id });
      expect((await fanfare('contact-list delete --help')).out).toContain(
        'contacts that are in no other list',
      );
      expect(await json<unknown[]>('contacts list')).toMatchObject([{ email: 'ada.two@example.com' }]);
    },
    TIMEOUT_MS,
  );

  test(
    'templates are listed, of one channel or of all',
    async () => {
      for (const name of ['order', 'greeting']) {
        const file = join(dataDir, `${name}.json`);
        writeFileSync(file, JSON.stringify({ channel: 'sms', templateName: name, body: 'Hello' }));
        expect((await fanfare(`template push ${file}`)).code).toBe(0);
      }
      const names = async (line: string) =>
        (await json<{ templateName: string }[]>(line)).map(({ templateName }) => templateName);
      expect(await names('template list')).toEqual(['greeting', 'order']);
      expect(await names('template list --limit 1')).toEqual(['greeting']);
      expect(await names('template list --channel sms --search ord')).toEqual(['order']);
      expect((await fanfare('template list --channel voice')).out).toBe('There are none.\n');
      expect((await fanfare('template list')).out).toMatch(/^tpl_\w+ +sms +greeting +1 /m);
    },
    TIMEOUT_MS,
  );

  test(
    'a sender is registered for one workspace, and taken away again',
    async () => {
      const { workspace } = await json<{ workspace: { id: string } }>(
        'workspace create Third --email third@example.com',
      );
      const sender = await json(`sender register shop.example --channel email --workspace ${workspace.id}`);
      expect(sender).toMatchObject({ workspace: workspace.id, channel: 'email', sender: 'shop.example' });
      expect(await json<unknown[]>('sender list')).toEqual([sender]);
      expect(await json(`sender remove ${sender.id}`)).toEqual({ id: sender.id });
      expect((await fanfare('sender list')).out).toBe('There are none.\n');
    },
    TIMEOUT_MS,
  );

  test(
    'the limit of a sender is set and lifted',
    async () => {
      expect(await json('sender-limit set 12345 --channel sms --rate 5')).toMatchObject({ rate: 5 });
      expect((await fanfare('sender-limit list')).out).toMatch(
        /^channel +sender +rate +burst .*\nsms +12345 +5 /,
      );
      expect(await json('sender-limit lift 12345 --channel sms')).toEqual({ channel: 'sms' });
      expect((await fanfare('sender-limit list')).out).toBe('There are none.\n');
    },
    TIMEOUT_MS,
  );

  test(
    'the limit of a sender is not set without a number, and is taken off by "off"',
    async () => {
      const rate = async () => (await json<{ rate: number }[]>('sender-limit list')).map((one) => one.rate);
      await json('sender-limit set 12345 --channel sms --rate 5');
      const { code, err, out } = await fanfare('sender-limit set 12345 --channel sms --json');
      expect([code, JSON.parse(out)]).toEqual([2, expect.objectContaining({ code: 'usage' })]);
      expect(err).toMatch(/--rate <number>.*--rate off.*sender-limit lift/s);
      expect(await rate()).toEqual([5]);
      const { out: said } = await fanfare('sender-limit set 12345 --channel sms --rate off');
      expect(said).toMatch(/^rate +not limited$/m);
      expect(said).not.toContain('concurrentCalls');
      expect(await rate()).toEqual([null]);
      const voice = await fanfare('sender-limit set +12025550123 --channel voice --concurrent-calls 3');
      expect(voice.out).toMatch(/^rate +not limited\nconcurrentCalls +3$/m);
      const ofCalls = await fanfare('sender-limit set 12345 --channel sms --concurrent-calls off');
      expect([ofCalls.code, ofCalls.err]).toEqual([2, expect.stringContaining('of voice alone')]);
      for (const wrong of ['none', '0', '-1'])
        expect((await fanfare(`sender-limit set 12345 --channel sms --rate ${wrong}`)).code).not.toBe(0);
      await json('sender-limit lift 12345 --channel sms');
      await json('sender-limit lift +12025550123 --channel voice');
    },
    TIMEOUT_MS,
  );

  test(
    'the limit of a sender keeps what the line does not name',
    async () => {
      const own = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
      const headers = { authorization: await bearerFor(api.identity, own) };
      const put = (body: unknown) => api.call('PUT', '/api/sender-limit', { headers, body });
      await put({ channel: 'voice', sender: '+12025550123', rate: 2, burst: 9, concurrentCalls: 4 });
      const set = (options: string) => json(`sender-limit set +1-202-555-0123 --channel voice ${options}`);
      expect(await set('--rate 3')).toMatchObject({ rate: 3, burst: 9, concurrentCalls: 4 });
      expect(await set('--concurrent-calls off')).toMatchObject({ rate: 3, burst: 9, concurrentCalls: null });
      expect(await set('--burst 5')).toMatchObject({ rate: 3, burst: 5, concurrentCalls: null });
      expect(await set('--burst off')).toMatchObject({ rate: 3, burst: null });
      await set('--burst 5');
      expect(await set('--rate off')).toMatchObject({ rate: null, burst: null });
      await json('sender-limit lift +12025550123 --channel voice');
      await put({ channel: 'email', sender: 'News@example.com', rate: 2, burst: 9 });
      const mail = 'sender-limit set News@Example.com --channel email';
      expect(await json(`${mail} --rate 3`)).toMatchObject({ rate: 3, burst: 9 });
      await json('sender-limit lift news@example.com --channel email');
    },
    TIMEOUT_MS,
  );

  test(
    'a refusal ends with 1, a wrong command line with 2',
    async () => {
      const refused = await fanfare('message show none');
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('404')]);
      expect((await fanfare('message list --state lost')).code).toBe(2);
      expect((await fanfare('suppression list --limit 0')).code).toBe(2);
      expect((await fanfare('webhook')).code).toBe(2);
    },
    TIMEOUT_MS,
  );
});

describe('completion', () => {
  const completed = async (...words: string[]): Promise<string[]> => {
    const { out } = await runFanfare(['completion', 'bash'], {}).ended;
    const script = `${out}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fanfare; echo "\${COMPREPLY[@]}"`;
    const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', 'fanfare', ...words]);
    return stdout.trim().split(' ');
  };

  test('bash completes commands, commands below them, options and choices', async () => {
    expect(await completed('camp')).toEqual(['campaign']);
    expect(await completed('campaign', 'dr')).toEqual(['dry-run']);
    expect(await completed('message', 'list', '--sta')).toEqual(['--state']);
    expect(await completed('message', 'list', '--state', 'deliv')).toEqual(['delivered']);
    expect(await completed('key', 'create', '--scopes', 'suppression:l')).toEqual(['suppression:lift']);
  });

  test.each(['zsh', 'fish'])('a script for %s names every command', async (shell) => {
    const { out, code } = await runFanfare(['completion', shell], {}).ended;
    expect(code).toBe(0);
    for (const path of ['campaign create', 'suppression lift', 'webhook deliveries', 'completion']) {
      expect(out).toContain(`"${path}"`);
    }
  });
});

test('the help of every command ends with an example', async () => {
  const { out } = await runFanfare(['completion', 'fish'], {}).ended;
  const paths = [...out.matchAll(/= "([^"]+)"' -a/g)].map(([, path]) => path ?? '');
  const leaves = paths.filter((path) => !paths.some((other) => other.startsWith(`${path} `)));
  expect(leaves.length).toBeGreaterThan(50);

  // Scripts of a checkout, which say themselves what they take.
  const withHelp = leaves.filter((path) => !['bench', 'chaos'].includes(path));
  expect(Object.keys(EXAMPLES).sort()).toEqual(withHelp.sort());
  expect((await runFanfare(['message', 'list', '--help'], {}).ended).out).toContain('$ fanfare message list');
  // A shell would look for files by it; zsh refuses the line where there are none.
  for (const example of Object.values(EXAMPLES))
    expect(example.replace(/"[^"]*"/g, '')).not.toMatch(/[*?[\]]/);
}, 60_000);
