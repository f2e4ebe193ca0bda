/** Proves what callbacks of vendors do to messages: by which account they count, in which order, and how they end a doubt. */

import { createSealing } from '../../../src/messaging/access/sealing';
import { sealAccountSecrets } from '../../../src/messaging/carriers/account-secrets';
import { createCallbackAccounts } from '../../../src/messaging/carriers/callback-accounts';
import { formerProofs, keptFormer } from '../../../src/messaging/carriers/former-proofs';
import type { Receipt } from '../../../src/providers/provider';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';
import { type AccountsRig, createAccountsRig, ENVIRONMENT, SEALING } from './accounts-rig';

describeWithDatabase('callbacks of vendors', (database) => {
  let rig: OutboxRig;
  let accounts: AccountsRig;
  let one: TestProcess;
  let sms: ScriptedProvider;
  const OWN = 'twilio:acc_own';

  beforeAll(async () => {
    const storage = await database.open();
    rig = await createOutboxRig(storage);
    accounts = createAccountsRig(storage);
    sms = new ScriptedProvider('sms', {}, OWN);
    one = await rig.process({ sms });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    sms.script = (message) => ({ kind: 'accepted', providerId: `SM-${message.id}` });
  });

  const states = async (uid: string) => (await rig.states())[uid];
  const track = (uid: string) => one.delivery.track(rig.workspaceId, uid);
  const tell = (provider: string, ...receipts: Receipt[]) => one.delivery.receiptsOf(provider)(receipts);

  async function ended(uid: string, state: string): Promise<string> {
    const { id } = await one.delivery.accept(rig.workspaceId, rig.sms(uid));
    await until(`it is ${state}`, async () => (await states(uid)) === state);
    return id;
  }

  test('a callback ends a doubt, and the id that it brings is the message’s from then on', async () => {
    sms.script = () => ({ kind: 'unknown' });
    const id = await ended('doubt', 'unknown');
    await tell(OWN, { id, providerId: 'SM-late', type: 'sent' });
    expect(await track('doubt')).toMatchObject({ state: 'sent' });
    await tell(OWN, { id, providerId: 'SM-late', type: 'sent' });
    await tell(OWN, { providerId: 'SM-late', type: 'delivered' });
    const { state, events } = await track('doubt');
    expect([state, events.map(({ type }) => type)]).toEqual([
      'delivered',
      ['accepted', 'unknown', 'sent', 'delivered'],
    ]);
  });

  test('one that is in no doubt gains nothing from being told that it was taken', async () => {
    const id = await ended('sure', 'sent');
    await tell(OWN, { id, providerId: `SM-${id}`, type: 'sent' });
    expect((await track('sure')).events.map(({ type }) => type)).toEqual(['accepted', 'sent']);
  });

  test('only the account that was offered the message may tell of it', async () => {
    sms.script = () => ({ kind: 'unknown' });
    const id = await ended('foreign', 'unknown');
    for (const other of ['twilio', 'twilio:acc_other', 'telnyx:acc_own']) {
      await tell(other, { id, providerId: 'SM-forged', type: 'delivered' });
      await tell(other, { id, providerId: 'SM-forged', type: 'sent' });
    }
    expect(await states('foreign')).toBe('unknown');
    await tell(OWN, { id, providerId: 'SM-right', type: 'delivered' });
    expect(await states('foreign')).toBe('delivered');
  });

  test('one that comes before the answer to the create is kept, whatever the answer is', async () => {
    for (const [uid, result, end] of [
      ['early', { kind: 'accepted', providerId: 'SM-early' }, 'delivered'],
      ['early-doubt', { kind: 'unknown' }, 'delivered'],
    ] as const) {
      sms.script = async ({ id }) => {
        await tell(OWN, { id, providerId: `SM-${uid}`, type: 'delivered' });
        return result;
      };
      await ended(uid, end);
    }
  });

  test('secrets before a change verify for ten minutes, and a deleted account is found for a week', async () => {
    const { db } = rig;
    const found = createCallbackAccounts({
      db,
      sealing: SEALING,
      environment: ENVIRONMENT,
      secretsOf: () => ({}),
    });
    const account = await accounts.make({
      ...{
        kind: 'twilio',
        channels: ['sms'],
        settings: { accountSid: 'AC1' },
        secrets: { authToken: 'one' },
      },
    });
    const tokens = async () =>
      (await found.find('twilio', account.id))?.secrets.map(({ authToken }) => authToken);
    expect(await tokens()).toEqual(['one']);
    await accounts.change(account, { name: 'Renamed' });
    expect(await tokens()).toEqual(['one']);
    await accounts.change(account, { secrets: { authToken: 'two' } });
    expect(await tokens()).toEqual(['two', 'one']);
    await accounts.change(account, { secrets: { authToken: 'three' } });
    expect(await tokens()).toEqual(['three', 'two', 'one']);
    const past = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    await db
      .updateTable('accounts')
      .set({ previous_until: past(1) })
      .where('id', '=', account.id)
      .execute();
    expect(await tokens()).toEqual(['three']);
    expect(await found.find('telnyx', account.id)).toBeUndefined();
    await accounts.accounts.remove(account.id);
    expect(await tokens()).toEqual(['three']);
    await db
      .updateTable('accounts')
      .set({ deleted_at: past(7 * 24 * 60 + 1) })
      .where('id', '=', account.id)
      .execute();
    expect(await tokens()).toBeUndefined();
  });

  test('a public key that was changed verifies for ten minutes, and each of several only for its own', async () => {
    const find = createCallbackAccounts({
      ...{ db: rig.db, sealing: SEALING, environment: ENVIRONMENT, secretsOf: () => ({}) },
    });
    const [one, two] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];
    const account = await accounts.make({
      ...{ kind: 'telnyx', channels: ['sms'], settings: { publicKey: one }, secrets: { apiKey: 'k' } },
    });
    await accounts.change(account, { settings: { publicKey: two } });
    const keys = async () => {
      const { settings, secrets = [] } = (await find.find('telnyx', account.id)) ?? {};
      return secrets.map(({ publicKey }) => publicKey ?? settings?.publicKey);
    };
    expect(await keys()).toEqual([two, one]);
    const row = await rig.db
      .selectFrom('accounts')
      .selectAll()
      .where('id', '=', account.id)
      .executeTakeFirstOrThrow();
    const inMinutes = (minutes: number) => new Date(Date.now() + minutes * 60_000);
    const again = { ...row, ...keptFormer(SEALING, row, { publicKey: two }, inMinutes(6)) };
    expect(formerProofs(SEALING, again, inMinutes(8)).map(({ publicKey }) => publicKey)).toEqual([two, one]);
    expect(formerProofs(SEALING, again, inMinutes(12)).map(({ publicKey }) => publicKey)).toEqual([two]);
    expect(formerProofs(SEALING, again, inMinutes(17))).toEqual([]);
  });

  test('a process without the key of an account’s secrets has its callbacks sent again', async () => {
    const account = await accounts.make({
      ...{
        kind: 'telnyx',
        channels: ['sms'],
        settings: { publicKey: Buffer.alloc(32).toString('base64') },
        secrets: { apiKey: 'key' },
      },
    });
    const found = createCallbackAccounts({
      ...{ db: rig.db, sealing: createSealing([Buffer.alloc(32, 8)]), environment: [] },
      secretsOf: () => ({}),
    });
    await expect(found.find('telnyx', account.id)).rejects.toMatchObject({ code: 'dependency_down' });
  });

  test('what an earlier version kept of a change still verifies', async () => {
    const account = await accounts.make({
      ...{
        kind: 'twilio',
        channels: ['sms'],
        settings: { accountSid: 'AC1' },
        secrets: { authToken: 'new' },
      },
    });
    const { secrets, key_id } = sealAccountSecrets(SEALING, account.id, { authToken: 'old' });
    const row = { id: account.id, previous_secrets: secrets, previous_key_id: key_id };
    const until = new Date(Date.now() + 60_000);
    expect(formerProofs(SEALING, { ...row, previous_until: until })).toEqual([{ authToken: 'old' }]);
    expect(formerProofs(SEALING, { ...row, previous_until: new Date() })).toEqual([]);
  });
});
