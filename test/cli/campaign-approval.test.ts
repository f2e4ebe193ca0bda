import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeCredentials } from '../../src/credentials/credentials';
import { bearerFor, newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { runFanfare } from '../support/fanfare-command';
import { describeWithDatabase } from '../support/storage';

const TIMEOUT_MS = 150_000;

describeWithDatabase('fanfare campaign digest and approve', (database) => {
  let api: WholeApi;
  let dataDir: string;
  let headers: Record<string, string>;
  let userId: string;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    const workspace = await newWorkspace(api.identity);
    headers = { authorization: await bearerFor(api.identity, workspace) };
    userId = workspace.user.id;
    dataDir = mkdtempSync(join(tmpdir(), 'fanfare-approval-'));
    await writeCredentials(dataDir, { ...workspace, baseUrl: api.url });
    await post('/api/template', {
      templateName: 'Order ready',
      channel: 'sms',
      body: 'Hello {{NAME}}, {{TOTAL}}',
    });
    await post('/api/template', {
      templateName: 'News',
      channel: 'email',
      subject: 'News',
      body: '<p>News</p>',
    });
  });
  afterAll(async () => {
    await api.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const post = async (path: string, body: unknown, more: Record<string, string> = {}) =>
    (await api.call('POST', path, { body, headers: { ...headers, ...more } })).body;
  const get = async (path: string) => (await api.call('GET', path, { headers })).body.data;
  const fanfare = (args: string[]) => runFanfare(args, { FANFARE_DATA_DIR: dataDir }).ended;
  const policy = (body: object) => api.call('PUT', '/api/policy', { headers, body });

  test(
    'a digest is shown, and approved by the user of credentials.json',
    async () => {
      await policy({ approval: { above: 1 } });
      const args = ['--channel', 'email', '--template', 'News', '--from', 'news@example.com'];
      const to = ['--to', 'ann@example.com', 'bob@example.com'];
      const made = JSON.parse((await fanfare(['campaign', 'send', ...args, ...to, '--json'])).out);
      expect(made).toMatchObject({ phase: 'draft', warnings: [{ code: 'approval_required' }] });
      const shown = await fanfare(['campaign', 'digest', made.id]);
      const [, digest = ''] = /^Digest: (\w{64})$/m.exec(shown.out) ?? [];
      expect(shown.out).toMatch(/^2 recipients of 2 contacts\nemail: 2 recipients of 2 contacts\n/);
      expect(shown.out).toMatch(/^email template \S+, version 1\nIt starts when it is approved\.$/m);
      const wrong = await fanfare(['campaign', 'approve', made.id, '--digest', 'f'.repeat(64)]);
      expect([wrong.code, wrong.err]).toEqual([
        1,
        expect.stringContaining('has changed since this digest was read'),
      ]);
      const approved = await fanfare(['campaign', 'approve', made.id, '--digest', digest]);
      expect([approved.code, approved.out]).toEqual([0, `Campaign ${made.id} is approved, and planning.\n`]);
      expect((await get(`/api/campaign/${made.id}`)).approval.by).toBe(userId);
      expect((await fanfare(['campaign', 'approve', made.id])).code).toBe(2);
      await policy({});
    },
    TIMEOUT_MS,
  );

  test(
    'a campaign of the user’s own is refused in words',
    async () => {
      const { data } = await post(
        '/api/campaign',
        {
          ...{ name: 'C', channel: ['email'], start: false, recipients: [{ email: 'cid@example.com' }] },
          settings: {
            email: { fromEmail: 'news@example.com', templateId: (await templateOf('email')).id, version: 1 },
          },
        },
        { 'x-user-id': userId },
      );
      const { digest } = await get(`/api/campaign/${data.id}/digest`);
      const refused = await fanfare(['campaign', 'approve', data.id, '--digest', digest]);
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('was created by this user')]);
    },
    TIMEOUT_MS,
  );

  async function templateOf(channel: string): Promise<{ id: string }> {
    const query = `/api/template?channel=${channel}&column=createdAt&direction=asc&search=&page=1&pageSize=1`;
    return (await api.call('GET', query, { headers })).body.templates[0];
  }
});
