/** Proves that secrets in the database are encrypted, and that keys can be added, replaced and left out. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { openSecretsModule } from '../../src/app/secrets-module';
import { readConfig } from '../../src/config';
import { accountBody } from '../../src/contracts/accounts';
import { LIMITS } from '../../src/domain/limits';
import { createLog } from '../../src/log';
import { createSealing, type Sealing } from '../../src/messaging/access/sealing';
import { sealAccountSecrets } from '../../src/messaging/carriers/account-secrets';
import { createAccounts } from '../../src/messaging/carriers/accounts';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { openSecrets } from '../../src/messaging/webhooks/sealed-secrets';
import type { StartupError } from '../../src/startup-error';
import { ROOT } from '../support/root';
import { describeWithDatabase } from '../support/storage';

const keyOf = (byte: number) => Buffer.alloc(32, byte);
const [ONE, TWO, THREE] = [keyOf(1), keyOf(2), keyOf(3)];
const nameOf = (key: Buffer) => createSealing([key]).keyId;

describeWithDatabase('secrets in the database', (database) => {
  let db: Kysely<MessagingTables>;
  beforeEach(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });

  const start = (...keys: Buffer[]) => {
    const variable = keys.map((key) => key.toString('base64')).join(',');
    return openSecretsModule(readConfig({ FANFARE_SECRETS_KEY: variable }), db, createLog('silent'));
  };
  const refusal = async (...keys: Buffer[]) =>
    start(...keys).then(
      () => '',
      (error: StartupError) => `${error.name}: ${error.message}. ${error.wayOut}`,
    );

  /** As the version before kept them. */
  async function insertPlain(count: number, from = 0) {
    const ids = Array.from({ length: count }, (_, i) => `whk_${String(from + i).padStart(5, '0')}`);
    const secrets = ids.map((id) => JSON.stringify([{ secret: `whsec_${id}`, validTill: null }]));
    await sql`
      insert into webhooks (id, workspace_id, url, events, signing_secrets, after_seq)
      select g.id, 'w', 'https://hooks.example', '{*}', g.secrets::jsonb, 0
      from unnest(${ids}::text[], ${secrets}::text[]) as g(id, secrets)`.execute(db);
    return ids;
  }

  async function insertAccount(sealing: Sealing) {
    const { secrets, key_id, secret_names } = sealAccountSecrets(sealing, 'acc_1', { authToken: 'first' });
    const settings = { accountSid: `AC${'0'.repeat(32)}` };
    await sql`
      insert into accounts (id, name, kind, channels, settings, secrets, key_id, secret_names, workspaces)
      values ('acc_1', 'A', 'twilio', '{sms}', ${JSON.stringify(settings)}::jsonb, ${secrets}, ${key_id},
        ${secret_names}, '{*}')`.execute(db);
  }

  const webhooks = () =>
    db.selectFrom('webhooks').select(['id', 'key_id', 'signing_secrets']).orderBy('id').execute();
  const keyNames = async () => [...new Set((await webhooks()).map(({ key_id }) => key_id))];
  const everything = async () => {
    const kept = await db.selectFrom('installation_secrets').selectAll().execute();
    return JSON.stringify([await webhooks(), kept]);
  };

  test('with a key nothing can be read that was plain before, and it opens as what it was', async () => {
    const before = await start();
    const link = await before.ofInstallation('unsubscribe');
    const ids = await insertPlain(3);
    expect(await everything()).toContain(link);

    const { ofWebhooks, ofInstallation } = await start(ONE);
    expect(await ofInstallation('unsubscribe')).toBe(link);
    const text = await everything();
    expect(text).not.toContain(link);
    expect(text).not.toContain('whsec_');
    expect(text).not.toContain('"key_id":null');
    for (const { id, key_id: keyId, signing_secrets: sealed } of await webhooks()) {
      expect(openSecrets(ofWebhooks, id, { keyId, sealed })).toEqual([
        { secret: `whsec_${id}`, validTill: null },
      ]);
    }
    expect((await webhooks()).map(({ id }) => id)).toEqual(ids);
  });

  test('without a key those of webhooks are sealed by one that is kept beside them', async () => {
    await insertPlain(2);
    const { ofWebhooks } = await start();
    expect(await everything()).not.toContain('whsec_');
    expect((await start()).ofWebhooks.keyId).toBe(ofWebhooks.keyId);
    // Configured later, the key takes over what was sealed so far.
    await start(ONE);
    expect(await keyNames()).toEqual([nameOf(ONE)]);
  });

  test('more than fit into one step are sealed in several, and a start that was killed is gone on with', async () => {
    const count = 2 * LIMITS.webhookSealRows + 1;
    await insertPlain(count);
    await start(ONE);
    expect(await keyNames()).toEqual([nameOf(ONE)]);
    // Killed after its first step, the start before this one has left the others plain.
    await sql`update webhooks set key_id = null, signing_secrets = '[{"secret": "whsec_again", "validTill": null}]'
      where id >= 'whk_00200'`.execute(db);
    await start(ONE);
    expect(await keyNames()).toEqual([nameOf(ONE)]);
    expect(await everything()).not.toContain('whsec_');
  });

  test('another key takes over while the former is named behind it, which can then be left out', async () => {
    const link = await (await start(ONE)).ofInstallation('unsubscribe');
    await insertPlain(2);
    await start(ONE);
    await start(TWO, ONE);
    expect(await keyNames()).toEqual([nameOf(TWO)]);
    expect(await (await start(TWO)).ofInstallation('unsubscribe')).toBe(link);
    expect(await refusal(ONE)).toContain(nameOf(TWO));
  });

  test('with a wrong key, or none any more, nothing starts, and it is said what to do', async () => {
    await (await start(ONE)).ofInstallation('unsubscribe');
    for (const keys of [[TWO], []]) {
      const said = await refusal(...keys);
      expect(said).toMatch(/^StartupError: .*FANFARE_SECRETS_KEY.*docs\/operating\.md/);
      expect(said).toContain(nameOf(ONE));
      expect(said).not.toContain(ONE.toString('base64'));
    }
    expect(await refusal()).toMatch(/, and FANFARE_SECRETS_KEY is not set\. Set it to that key; /);
    // Nothing was changed by that.
    await start(ONE);
  });

  test('secrets that only webhooks have under a missing key are missed as well', async () => {
    await insertPlain(1);
    await start(ONE);
    await sql`update webhooks set key_id = ${nameOf(THREE)}`.execute(db);
    expect(await refusal(ONE)).toContain(nameOf(THREE));
    await sql`update webhooks set deleted_at = now()`.execute(db);
    expect(await refusal(ONE)).toBe('');
  });

  test('secrets that were changed from outside keep nothing from starting', async () => {
    await insertPlain(2);
    await start(ONE);
    await sql`update webhooks set signing_secrets = (select signing_secrets from webhooks where id = 'whk_00000')
      where id = 'whk_00001'`.execute(db);
    await start(TWO, ONE);
    expect((await webhooks()).map(({ key_id }) => key_id)).toEqual([nameOf(TWO), nameOf(ONE)]);
  });

  test('processes that start at once come to the same', async () => {
    await insertPlain(5);
    const started = await Promise.all([start(ONE), start(ONE), start(ONE)]);
    const links = await Promise.all(started.map(({ ofInstallation }) => ofInstallation('unsubscribe')));
    expect(new Set(links).size).toBe(1);
    expect(await keyNames()).toEqual([nameOf(ONE)]);
  });

  test('a key of the data directory that is lost or replaced is named as that, and none is made in its place', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'fanfare-keys-'));
    const file = join(dataDir, 'secrets.key');
    const open = () => openSecretsModule(readConfig({ FANFARE_DATA_DIR: dataDir }), db, createLog('silent'));
    try {
      const { ofAccounts } = await open();
      await insertAccount(ofAccounts);
      const key = readFileSync(file);
      rmSync(file);
      const sealed = `Secrets of accounts are sealed with the key ${ofAccounts.keyId}, and ${file}`;
      const wayOut = expect.stringContaining('Put the file back');
      await expect(open()).rejects.toMatchObject({ message: `${sealed} is not there`, wayOut });
      expect(existsSync(file)).toBe(false);
      writeFileSync(file, TWO.toString('base64'));
      const message = `${sealed} holds another one (${nameOf(TWO)})`;
      await expect(open()).rejects.toMatchObject({ message, wayOut });
      writeFileSync(file, key);
      await open();
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });

  test('what the documentation says to do after a key was lost lets it start again', async () => {
    await insertPlain(2);
    const before = await start(ONE);
    await before.ofInstallation('unsubscribe');
    await insertAccount(before.ofAccounts);
    await sql`
      insert into registered_senders (id, workspace_id, channel, sender, name, dkim_selector, dkim_key, key_id)
      values ('snr_1', 'w', 'email', 'example.com', 'example.com', 's1', 'sealed', ${nameOf(ONE)})`.execute(
      db,
    );
    const page = readFileSync(join(ROOT, 'docs', 'operating.md'), 'utf8');
    const statements = /```sql\n(.*?)```/s.exec(page)?.[1] ?? '';
    for (const statement of statements.replaceAll('3f2a90c1d4e7', nameOf(ONE)).split(';')) {
      if (statement.trim() !== '') await sql.raw(statement).execute(db);
    }
    const { ofAccounts: sealing } = await start(TWO);
    expect((await webhooks()).map(({ signing_secrets: sealed }) => sealed)).toEqual([[], []]);
    const accounts = createAccounts({ db, sealing, environment: [], onChanged: async () => undefined });
    const secrets = { authToken: 'set anew' };
    await accounts.change('acc_1', { secrets }, (body) => accountBody.parse(body));
    expect(await accounts.secretsOf('acc_1')).toEqual(secrets);
    expect((await db.selectFrom('registered_senders').select(['sender', 'key_id']).execute())[0]).toEqual({
      sender: 'example.com',
      key_id: null,
    });
  });
});
