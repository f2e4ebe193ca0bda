import { inabilitiesOf } from '../../../src/app/accounts';
import { isDomainError } from '../../../src/domain/errors';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { addTemplate, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { type AccountsRig, createAccountsRig } from './accounts-rig';

const TWILIO = {
  ...{ kind: 'twilio', channels: ['sms', 'voice'] },
  settings: { accountSid: `AC${'a'.repeat(32)}` },
  secrets: { authToken: 'token' },
};
const TELNYX = {
  ...{ kind: 'telnyx', channels: ['sms', 'voice'] },
  settings: { publicKey: Buffer.alloc(32, 1).toString('base64') },
  secrets: { apiKey: 'KEY1' },
};

describeWithDatabase('a single message that no account can send', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let owner: AccountsRig;
  let process: TestProcess;
  let long: string;
  let call: string;

  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    owner = createAccountsRig(storage);
    process = await rig.process({}, { carriers: { ...owner.carriers(), unable: inabilitiesOf } });
    long = await addTemplate(rig.db, rig.workspaceId, { channel: 'sms', body: 'x'.repeat(1_601) });
    call = await addTemplate(rig.db, rig.workspaceId, {
      channel: 'voice',
      body: '<Response><Say>Hello</Say></Response>',
    });
  });
  afterEach(async () => {
    await owner.routes.put([]);
    await rig.stop();
  });

  const route = async (...accounts: string[]) => {
    await owner.routes.put(
      (['sms', 'voice'] as const).map((channel) => ({
        channel,
        accounts: accounts.map((account) => ({ account, weight: 1 })),
      })),
    );
    await process.delivery.carriersChanged();
  };
  const refusal = async (message: ReturnType<OutboxRig['sms']>) => {
    const [outcome] = await process.delivery.acceptMany(rig.workspaceId, [message]);
    if (!outcome || outcome.ok) return outcome?.answer.state;
    if (!isDomainError(outcome.error)) throw outcome.error;
    return `${outcome.error.code} ${outcome.error.errors.map(({ path }) => path)}`;
  };
  const voice = (uid: string) =>
    rig.sms(uid, { channel: 'voice', from: '+12025550100', 'template-id': call, params: {} });

  test('is refused for what its template, sender or account makes impossible', async () => {
    const { id: twilio } = await owner.make(TWILIO);
    await route(twilio);
    expect(await refusal(rig.sms('m1', { 'template-id': long, params: {} }))).toBe(
      'not_possible template-id',
    );
    expect(await refusal(rig.sms('m2'))).toBe('accepted');
    const { id: telnyx } = await owner.make(TELNYX);
    await route(telnyx);
    expect(await refusal(rig.sms('m3', { from: 'Harbour' }))).toBe('not_possible from');
    expect(await refusal(voice('m4'))).toBe('not_possible channel');
  });

  test('is refused for good, without stopping a campaign, when only its values make it too long', async () => {
    await route((await owner.make(TWILIO)).id);
    const params = { NAME: 'x'.repeat(1_601) };
    expect(await refusal(rig.sms('m1', { params }))).toBe('message_not_possible template-id');
  });

  test('is accepted where another account of its route can send it', async () => {
    const [twilio, telnyx] = [await owner.make(TWILIO), await owner.make(TELNYX)];
    await route(twilio.id, telnyx.id);
    expect(await refusal(rig.sms('m1', { 'template-id': long, params: {} }))).toBe('accepted');
  });

  test('that was accepted before is answered as before', async () => {
    const message = rig.sms('m1', { 'template-id': long, params: {} });
    expect(await refusal(message)).toBe('accepted');
    await until('it is handed over', async () => process.sms.taken.length === 1);
    await route((await owner.make(TWILIO)).id);
    expect(await refusal(message)).toBe('sent');
  });

  test('whose account has lost its calls waits for the account, and says so', async () => {
    const account = await owner.make({ ...TELNYX, channels: ['sms'] });
    const later = { sendAt: new Date(Date.now() + 400).toISOString() };
    expect(await refusal({ ...voice('m1'), ...later })).toBe('scheduled');
    await owner.change(account, { channels: ['sms', 'voice'] });
    await route(account.id);
    const story = async () => (await process.delivery.stories(rig.workspaceId, ['m1']))[0];
    await until('it waits for the account', async () => (await story())?.waits?.why === 'account');
    expect(process.voice.taken).toEqual([]);
  });
});
