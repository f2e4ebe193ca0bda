/** Proves which credentials a workspace’s campaigns use, and that none uses another workspace’s. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { openServiceGateways, templateLookup } from '../../src/app/service-gateway';
import { Shutdown } from '../../src/app/shutdown';
import { readConfig } from '../../src/config';
import type { Credentials } from '../../src/credentials/credentials';
import type { DomainError } from '../../src/domain/errors';
import { createLog } from '../../src/log';
import { createIdentity } from '../../src/messaging/access/identity';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { OwnRequests } from '../../src/own-requests';
import type { Storage } from '../../src/storage/storage';
import { newWorkspace } from '../http/service';
import { startWholeApi } from '../http/whole-api';
import { HostedService } from '../support/hosted-service';
import { describeWithDatabase } from '../support/storage';

const VARIABLES = {
  FANFARE_AUTH_URL: 'http://127.0.0.1:9',
  FANFARE_SEND_URL: 'http://127.0.0.1:9',
  FANFARE_APP_URL: 'http://127.0.0.1:9',
  FANFARE_CLIENT_SECRET: 'secret',
  FANFARE_API_KEY: 'key',
};

describeWithDatabase('whom a process sends for', (database) => {
  let storage: Storage;
  let db: Kysely<MessagingTables>;
  let first: Credentials;
  let second: Credentials;
  const dir = mkdtempSync(join(tmpdir(), 'fanfare-accounts-'));
  const shutdown = new Shutdown(createLog('silent'));

  beforeAll(async () => {
    storage = await database.open();
    db = storage.tables<MessagingTables>();
    const identity = createIdentity({ db });
    first = { ...(await newWorkspace(identity)), baseUrl: 'http://127.0.0.1:9' };
    second = { ...(await newWorkspace(identity)), baseUrl: 'http://127.0.0.1:9' };
  });
  afterAll(async () => {
    await shutdown.closeAll();
    rmSync(dir, { recursive: true });
  });

  function gateways(env: Record<string, string>, own?: Credentials) {
    return openServiceGateways(
      {
        config: readConfig(env),
        credentials: () => own,
        db,
        own: new OwnRequests(),
        log: createLog('silent'),
      },
      shutdown,
    );
  }

  async function served(env: Record<string, string>, own?: Credentials): Promise<boolean[]> {
    const { hasAccess } = gateways(env, own);
    return Promise.all([first, second].map(({ workspace }) => hasAccess(workspace.id)));
  }

  function fileOf(...workspaces: Credentials[]): string {
    const file = join(dir, `${workspaces.map(({ workspace }) => workspace.id).join('-')}.json`);
    const accounts = workspaces.map(({ workspace, client, apiKey }) => [
      workspace.id,
      { clientId: client.id, clientSecret: client.secret, apiKey },
    ]);
    writeFileSync(file, JSON.stringify(Object.fromEntries(accounts)));
    return file;
  }

  test('is every workspace, with the credentials of the installation', async () => {
    expect(await served({}, first)).toEqual([true, true]);
  });

  test('is the workspace of the client that the variables name, whichever came first', async () => {
    const env = { ...VARIABLES, FANFARE_CLIENT_ID: second.client.id };
    expect(await served(env)).toEqual([false, true]);
    expect(await served(env, first)).toEqual([false, true]);
    expect(await served({ ...VARIABLES, FANFARE_CLIENT_ID: first.client.id })).toEqual([true, false]);
  });

  test('is the first workspace for an account elsewhere, unless the operator names another', async () => {
    const env = { ...VARIABLES, FANFARE_CLIENT_ID: 'acme' };
    expect(await served(env)).toEqual([true, false]);
    expect(await served({ ...env, FANFARE_SERVICE_WORKSPACE: second.workspace.id })).toEqual([false, true]);
  });

  test('is each workspace in the file of accounts, beside that of the variables', async () => {
    const env = { ...VARIABLES, FANFARE_SERVICE_CREDENTIALS_FILE: fileOf(second) };
    expect(await served(env)).toEqual([false, true]);
    expect(await served({ ...env, FANFARE_CLIENT_ID: 'acme' })).toEqual([true, true]);
    expect(await served({ FANFARE_SERVICE_CREDENTIALS_FILE: fileOf(second) }, first)).toEqual([true, true]);
  });

  test('is refused for any other before a request leaves', async () => {
    const env = { ...VARIABLES, FANFARE_CLIENT_ID: first.client.id };
    const refusal = { code: 'forbidden', message: expect.stringContaining(second.workspace.id) };
    const one = gateways(env);
    await expect(one.gatewayFor(second.workspace.id).capabilities()).rejects.toMatchObject(refusal);
    const lookUp = templateLookup(one).find(second.workspace.id, 'sms', 'tpl_1', 1);
    await expect(lookUp).rejects.toMatchObject(refusal);
    const { gatewayFor } = gateways({ ...VARIABLES, FANFARE_SERVICE_CREDENTIALS_FILE: fileOf(second) });
    expect(() => gatewayFor(first.workspace.id)).toThrow(expect.objectContaining({ code: 'forbidden' }));
  });

  test('gets what to correct where the service refuses the key', async () => {
    const api = await startWholeApi(storage);
    const { check } = templateLookup(
      gateways({
        ...{ FANFARE_AUTH_URL: api.url, FANFARE_SEND_URL: api.url, FANFARE_APP_URL: api.url },
        ...{ FANFARE_CLIENT_ID: first.client.id, FANFARE_CLIENT_SECRET: first.client.secret },
        FANFARE_API_KEY: 'ffk_wrong',
      }),
    );
    const question = { channel: 'sms' as const, from: '12345', templateId: 'tpl_1', class: undefined };
    const refused = (await check?.(first.workspace.id, question).catch(
      (error: unknown) => error,
    )) as DomainError;
    expect(refused.code).toBe('dependency_down');
    expect(refused.message).toMatch(/401 to GET \/send-msg\/check; .*FANFARE_API_KEY.*`fanfare doctor`/);
    await api.stop();
  });

  test('is proved by the account of each workspace', async () => {
    const [one, other] = [new HostedService({ tokenSeconds: 60 }), new HostedService({ tokenSeconds: 60 })];
    try {
      const of = await one.start();
      const {
        FANFARE_AUTH_URL: authUrl,
        FANFARE_SEND_URL: sendUrl,
        FANFARE_APP_URL: appUrl,
      } = await other.start();
      const file = join(dir, 'two.json');
      const account = {
        clientId: of.FANFARE_CLIENT_ID,
        clientSecret: of.FANFARE_CLIENT_SECRET,
        apiKey: of.FANFARE_API_KEY,
      };
      writeFileSync(
        file,
        JSON.stringify({ [second.workspace.id]: { ...account, authUrl, sendUrl, appUrl } }),
      );
      const { gatewayFor } = gateways({ ...of, FANFARE_SERVICE_CREDENTIALS_FILE: file });
      await gatewayFor(first.workspace.id).capabilities();
      expect([one.tokens.length, other.tokens.length]).toEqual([1, 0]);
      await gatewayFor(second.workspace.id).capabilities();
      expect([one.tokens.length, other.tokens.length]).toEqual([1, 1]);
    } finally {
      await Promise.all([one.stop(), other.stop()]);
    }
  });

  test.each([
    ['a file that is not there', 'none.json', undefined, 'ENOENT'],
    ['no JSON', 'text.json', 'text', 'the whole file'],
    [
      'an account without a key',
      'half.json',
      '{"wsp_1":{"clientId":"a","clientSecret":"b"}}',
      'wsp_1.apiKey',
    ],
  ])('refuses %s at the start, by what is wrong', (_, name, text, named) => {
    const file = join(dir, name);
    if (text !== undefined) writeFileSync(file, text);
    expect(() => gateways({ FANFARE_SERVICE_CREDENTIALS_FILE: file })).toThrow(named);
  });
});
