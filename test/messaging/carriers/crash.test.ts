import { type Account, providerName } from '../../../src/domain/account';
import type { Route } from '../../../src/domain/route';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { endLeases } from '../end-leases';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';
import { type AccountsRig, createAccountsRig } from './accounts-rig';

describeWithDatabase('an account whose process ends in the middle of a hand-over', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let owner: AccountsRig;
  let account: Account;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    owner = createAccountsRig(storage);
    account = await owner.make();
    await owner.routes.put([{ channel: 'sms', accounts: [{ account: account.id }] }]);
  });
  afterEach(async () => {
    await rig.stop();
    await owner.routes.put([]);
  });

  const provider = (idempotent: boolean) =>
    new ScriptedProvider('sms', { idempotent }, providerName(account));

  /** Leaves one message with the account, by a process that is gone as far as the next one can tell. */
  async function endInTheMiddle(idempotent: boolean): Promise<ScriptedProvider> {
    const hanging = provider(idempotent);
    hanging.script = hanging.hang;
    const { delivery } = await rig.process({}, { carriers: owner.carriers(() => hanging) });
    await delivery.accept(rig.workspaceId, rig.sms('doubt'));
    await until('it is on its way', () => hanging.taken.length === 1);
    const [open] = await rig.db.selectFrom('handover_batches').select('provider').execute();
    expect(open?.provider).toBe(`http:${account.id}`);
    await endLeases(rig.db);
    return hanging;
  }

  const next = (second: ScriptedProvider): Promise<TestProcess> =>
    rig.process({}, { carriers: owner.carriers(() => second) });

  test('is given the same message again when it knows messages, whatever the routes say by then', async () => {
    const first = await endInTheMiddle(true);
    await owner.routes.put([]);
    const second = provider(true);
    const { sms } = await next(second);
    await until('it is sent', async () => (await rig.states()).doubt === 'sent');
    expect(second.taken).toEqual(first.taken);
    expect(sms.taken).toEqual([]);
  });

  test('keeps the message when it is refused the second time, though the route has a next account', async () => {
    const spare = await owner.make();
    const first = await endInTheMiddle(true);
    await owner.routes.put([
      { channel: 'sms', accounts: [account, spare].map(({ id }) => ({ account: id })), failover: true },
    ]);
    const refusing = provider(true);
    refusing.script = () => ({ kind: 'account', code: 'http_401', message: 'Wrong key' });
    const others = new ScriptedProvider('sms', {}, providerName(spare));
    const carriers = owner.carriers(({ id }) => (id === spare.id ? others : refusing));
    const { delivery } = await rig.process({}, { carriers });
    await until('it was refused', () => refusing.taken.length >= 1);
    await delivery.accept(rig.workspaceId, rig.sms('fresh'));
    await until('the next account has what is new', () => others.uids().includes('fresh'));
    refusing.script = (message) => ({ kind: 'accepted', providerId: message.id });
    await until('it is sent', async () => (await rig.states()).doubt === 'sent');
    expect(others.uids()).toEqual(['fresh']);
    expect(refusing.taken.at(-1)?.id).toBe(first.taken[0]?.id);
  });

  test('keeps the message when it is refused the second time, though the routes lead elsewhere since', async () => {
    const first = await endInTheMiddle(true);
    const spare = await owner.make();
    const refusing = provider(true);
    refusing.script = () => ({ kind: 'account', code: 'http_401', message: 'Wrong key' });
    const others = new ScriptedProvider('sms', {}, providerName(spare));
    const carriers = owner.carriers(({ id }) => (id === spare.id ? others : refusing));
    const { delivery, sms } = await rig.process({}, { carriers });
    await until('it was refused', () => refusing.taken.length >= 1);
    const elsewhere: Route[] = [{ channel: 'sms', accounts: [{ account: spare.id }] }];
    for (const [uid, routes, carrier] of [
      ['fresh', elsewhere, others],
      ['newest', [], sms],
    ] as const) {
      await owner.routes.put(routes);
      await delivery.carriersChanged();
      await delivery.accept(rig.workspaceId, rig.sms(uid));
      await until('what is new goes elsewhere', () => carrier.uids().includes(uid));
    }
    await delivery.probeAccount(account.id);
    await until('it is tried again', () => refusing.taken.length >= 2);
    refusing.script = (message) => ({ kind: 'accepted', providerId: message.id });
    await delivery.probeAccount(account.id);
    await until('it is sent', async () => (await rig.states()).doubt === 'sent');
    expect([...others.uids(), ...sms.uids()]).toEqual(['fresh', 'newest']);
    expect(refusing.taken.at(-1)?.id).toBe(first.taken[0]?.id);
  });

  test('leaves the message unknown when it is canceled after it was refused the second time', async () => {
    const first = await endInTheMiddle(true);
    const refusing = provider(true);
    refusing.script = () => ({ kind: 'account', code: 'http_401', message: 'Wrong key' });
    const { delivery } = await next(refusing);
    await until('it waits for its account', async () => {
      const { code } = await delivery.track(rig.workspaceId, 'doubt');
      return code === 'provider_account';
    });
    // The process that ended may have given it to the carrier.
    await expect(delivery.cancel(rig.workspaceId, 'doubt')).rejects.toMatchObject({ code: 'not_cancelable' });
    expect(await delivery.track(rig.workspaceId, 'doubt')).toMatchObject({
      ...{ state: 'unknown', code: 'answer_lost' },
      events: [{ type: 'accepted' }, { type: 'unknown', provider: providerName(account) }],
    });
    const offered = refusing.taken.length;
    refusing.script = (message) => ({ kind: 'accepted', providerId: message.id });
    await delivery.probeAccount(account.id);
    await delivery.accept(rig.workspaceId, rig.sms('after'));
    await until('the account is used again', async () => (await rig.states()).after === 'sent');
    expect(refusing.uids().slice(offered)).not.toContain('doubt');
    await delivery.receiptsOf(providerName(account))([{ id: first.taken[0]?.id, type: 'delivered' }]);
    await until('it is delivered', async () => (await rig.states()).doubt === 'delivered');
  });

  test('leaves the message unknown when it does not, and its late receipt still counts', async () => {
    const first = await endInTheMiddle(false);
    const second = provider(false);
    const { delivery, sms } = await next(second);
    await until('it is unknown', async () => (await rig.states()).doubt === 'unknown');
    expect([...second.taken, ...sms.taken]).toEqual([]);
    const id = first.taken[0]?.id;
    // Of another account nothing is believed.
    await delivery.receiptsOf('http:acc_other')([{ id, type: 'undelivered' }]);
    expect((await rig.states()).doubt).toBe('unknown');
    await delivery.receiptsOf('http')([{ id, type: 'delivered' }]);
    await until('it is delivered', async () => (await rig.states()).doubt === 'delivered');
  });

  test('leaves the message unknown when it is gone, and gives it to no other account', async () => {
    const first = await endInTheMiddle(true);
    await owner.routes.put([]);
    await rig.db.updateTable('accounts').set({ deleted_at: new Date() }).execute();
    const second = provider(true);
    const { delivery, sms } = await next(second);
    await until('it is unknown', async () => (await rig.states()).doubt === 'unknown');
    expect([...second.taken, ...sms.taken]).toEqual([]);
    await delivery.receiptsOf('http')([{ id: first.taken[0]?.id, type: 'delivered' }]);
    await until('it is delivered', async () => (await rig.states()).doubt === 'delivered');
  });

  test('a receipt of an account that may have taken the message counts after it expired waiting for it', async () => {
    const carrier = provider(true);
    carrier.script = ({ attempt }) =>
      attempt === 1
        ? { kind: 'transient', code: 'http_500', retryAfterMs: 1 }
        : { kind: 'account', code: 'http_401', message: 'Wrong key' };
    const { delivery } = await next(carrier);
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    const { id } = await delivery.accept(rig.workspaceId, rig.sms('one', { expiresAt }));
    await until('it is expired', async () => (await rig.states()).one === 'expired');
    expect(carrier.taken).toHaveLength(2);
    const { provider: name } = await delivery.track(rig.workspaceId, 'one');
    expect(name).toBe(providerName(account));
    await delivery.receiptsOf(providerName(account))([{ id, type: 'delivered' }]);
    expect((await rig.states()).one).toBe('delivered');
  });

  test('a receipt by the carrier’s id finds its message at whichever account of the kind has it', async () => {
    const carrier = provider(true);
    const { delivery } = await next(carrier);
    await delivery.accept(rig.workspaceId, rig.sms('one'));
    await until('it is sent', async () => (await rig.states()).one === 'sent');
    await delivery.receiptsOf('http')([{ providerId: `p:${carrier.taken[0]?.id}`, type: 'delivered' }]);
    await until('it is delivered', async () => (await rig.states()).one === 'delivered');
  });

  test('a receipt that is earlier than the record of the hand-over is taken up with it', async () => {
    const carrier = provider(true);
    const { delivery } = await next(carrier);
    carrier.script = async (message) => {
      await delivery.receiptsOf('http')([{ providerId: `early:${message.id}`, type: 'delivered' }]);
      return { kind: 'accepted', providerId: `early:${message.id}` };
    };
    await delivery.accept(rig.workspaceId, rig.sms('early'));
    await until('it is delivered', async () => (await rig.states()).early === 'delivered');
  });
});
