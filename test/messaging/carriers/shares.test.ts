import { type Account, providerName } from '../../../src/domain/account';
import type { HandOverResult } from '../../../src/providers/provider';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { addTemplate, createOutboxRig, type OutboxRig } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';
import { type AccountsRig, createAccountsRig } from './accounts-rig';

const REFUSED: HandOverResult = { kind: 'account', code: 'http_401', message: 'Wrong key' };

describeWithDatabase('accounts at carriers', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let owner: AccountsRig;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    owner = createAccountsRig(storage);
  });
  afterEach(async () => {
    await rig.stop();
    await owner.routes.put([]);
  });

  const to = (...accounts: Account[]) => accounts.map(({ id }) => ({ account: id }));
  /** Messages of one campaign and one sender, to British or American numbers. */
  const bulk = (prefix: '+44' | '+1', count: number, more: Record<string, unknown> = {}) =>
    Array.from({ length: count }, (_, i) =>
      rig.sms(`${prefix}-${i}`, {
        to: `${prefix === '+44' ? '+4420' : '+1202'}${5_550_000 + i}`,
        campaign: 'one',
        ...more,
      }),
    );

  test('a message leaves by the account of the route that matches it, and by the default otherwise', async () => {
    const british = await owner.make();
    await owner.routes.put([{ channel: 'sms', toPrefix: '+44', accounts: to(british) }]);
    const carriers = owner.carriers();
    const { delivery, sms } = await rig.process({}, { carriers });
    await delivery.acceptMany(rig.workspaceId, [...bulk('+44', 3), ...bulk('+1', 2)]);
    await until('all have left', () => carriers.of(british).taken.length === 3 && sms.taken.length === 2);
    await until('it is recorded', async () => (await rig.states())['+44-0'] === 'sent');
    const { provider } = await delivery.track(rig.workspaceId, '+44-0');
    expect(provider).toBe(`http:${british.id}`);
  });

  test('a refused account keeps no place of a sender’s calls from another account', async () => {
    const template = await addTemplate(rig.db, rig.workspaceId, { channel: 'voice', body: '<Response/>' });
    const british = await owner.make({ channels: ['voice'] });
    await owner.routes.put([{ channel: 'voice', toPrefix: '+44', accounts: to(british) }]);
    const refusing = new ScriptedProvider('voice', {}, providerName(british));
    refusing.script = () => REFUSED;
    const { delivery, voice } = await rig.process(
      {},
      { carriers: owner.carriers(() => refusing), senderLimits: { voice: { concurrentCalls: 2 } } },
    );
    const calls = (prefix: '+44' | '+1', count: number) =>
      bulk(prefix, count, { channel: 'voice', from: '+12125550100', 'template-id': template, params: {} });
    await delivery.acceptMany(rig.workspaceId, calls('+44', 100));
    await until('the account is paused', () =>
      delivery.accounts().some(({ account, state }) => account === british.id && state === 'paused'),
    );
    await delivery.acceptMany(rig.workspaceId, calls('+1', 5));
    for (let i = 0; i < 5; i++) {
      await until('the next is placed', () => voice.taken.length > i, 3_000);
      await until('it is recorded', async () => (await rig.states())[voice.uids()[i] ?? ''] === 'sent');
      await voice.report({ id: voice.taken[i]?.id, type: 'completed' });
    }
  });

  test('a refused account holds up nothing of another, even of the same campaign and sender', async () => {
    const british = await owner.make();
    await owner.routes.put([{ channel: 'sms', toPrefix: '+44', accounts: to(british) }]);
    const refusing = new ScriptedProvider('sms', {}, providerName(british));
    refusing.script = () => REFUSED;
    const { delivery, sms } = await rig.process({}, { carriers: owner.carriers(() => refusing) });
    // More than memory holds of one flow, and all of them before those of the other account.
    for (let i = 0; i < 4; i++) {
      const messages = bulk('+44', 1_000).map((one) => ({ ...one, uid: `${one.uid}-${i}` }));
      await delivery.acceptMany(rig.workspaceId, messages);
    }
    const since = Date.now();
    await delivery.acceptMany(rig.workspaceId, bulk('+1', 500));
    await until('the others have left', () => sms.taken.length === 500);
    expect(Date.now() - since).toBeLessThan(5_000);
    const states = Object.values(await rig.states());
    expect(states.filter((state) => state === 'accepted').length).toBeGreaterThanOrEqual(4_000);
    expect(delivery.accounts().find(({ account }) => account === british.id)).toMatchObject({
      state: 'paused',
      reason: 'http_401',
    });
    expect(delivery.accounts().find(({ account }) => account === 'default-sms')?.state).toBe('ok');
  });

  test('an account that does not answer holds up nothing of another', async () => {
    const british = await owner.make();
    await owner.routes.put([{ channel: 'sms', toPrefix: '+44', accounts: to(british) }]);
    const silent = new ScriptedProvider(
      'sms',
      { parallel: 5, batchMax: 5, answersEach: true },
      providerName(british),
    );
    silent.script = silent.hang;
    const { delivery, sms } = await rig.process({}, { carriers: owner.carriers(() => silent) });
    await delivery.acceptMany(rig.workspaceId, bulk('+44', 1_000));
    await delivery.acceptMany(rig.workspaceId, bulk('+1', 500));
    await until('the others have left', () => sms.taken.length === 500);
    expect(silent.taken.length).toBeLessThanOrEqual(7);
    silent.release({ kind: 'accepted', providerId: 'late' });
    silent.script = (message) => ({ kind: 'accepted', providerId: message.id });
    await until('the account has gone on', () => silent.taken.length === 1_000);
  });

  test('an account that throttles a sender silences that sender nowhere else', async () => {
    const british = await owner.make();
    await owner.routes.put([{ channel: 'sms', toPrefix: '+44', accounts: to(british) }]);
    const busy = new ScriptedProvider('sms', {}, providerName(british));
    busy.script = () => ({ kind: 'throttled', retryAfterMs: 60_000 });
    const { delivery, sms } = await rig.process({}, { carriers: owner.carriers(() => busy) });
    await delivery.acceptMany(rig.workspaceId, bulk('+44', 50));
    await until('it has throttled', () => busy.taken.length > 0);
    await delivery.acceptMany(rig.workspaceId, bulk('+1', 50));
    await until('the others have left', () => sms.taken.length === 50);
  });

  test('what another process changes is in force within five seconds, also for messages that wait', async () => {
    const carriers = owner.carriers();
    const sms = new ScriptedProvider('sms', { parallel: 1, batchMax: 1, answersEach: true });
    sms.script = () => REFUSED;
    const { delivery } = await rig.process({ sms }, { carriers });
    await delivery.acceptMany(rig.workspaceId, bulk('+44', 20));
    await until('the default account is refused', () => sms.taken.length > 0);
    const british = await owner.make();
    await owner.routes.put([{ channel: 'sms', accounts: to(british) }]);
    const since = Date.now();
    // The one that was refused waits until its next try.
    await until(
      'the others have left by the new account',
      () => carriers.opened.has(british.id) && carriers.of(british).taken.length >= 19,
    );
    expect(Date.now() - since).toBeLessThan(5_000);
  });

  test('while a route leads to no usable account its messages wait, and leave when it does', async () => {
    const only = await owner.make({ disabled: true });
    await owner.routes.put([{ channel: 'sms', accounts: to(only) }]);
    const carriers = owner.carriers();
    const { delivery, sms } = await rig.process({}, { carriers });
    await delivery.acceptMany(rig.workspaceId, bulk('+44', 5));
    await new Promise((done) => setTimeout(done, 500));
    expect(sms.taken).toHaveLength(0);
    expect(carriers.opened.has(only.id)).toBe(false);
    await owner.accounts.change(only.id, { disabled: false }, (body) => body as never);
    await until('they have left', () => carriers.opened.has(only.id) && carriers.of(only).taken.length === 5);
  });

  test('an account that is changed while it sends loses nothing and sends nothing twice', async () => {
    const account = await owner.make();
    await owner.routes.put([{ channel: 'sms', accounts: to(account) }]);
    const slow = () => {
      const provider = new ScriptedProvider(
        'sms',
        { parallel: 10, batchMax: 10, answersEach: true },
        providerName(account),
      );
      provider.script = async (message) => {
        await new Promise((done) => setTimeout(done, 20));
        return { kind: 'accepted', providerId: message.id };
      };
      return provider;
    };
    const carriers = owner.carriers(slow);
    const { delivery } = await rig.process({}, { carriers });
    await delivery.acceptMany(rig.workspaceId, bulk('+44', 1_000));
    for (let i = 1; i <= 3; i++) {
      await until('it sends', () => carriers.of(account).taken.length > 20);
      await owner.accounts.change(account.id, { name: `Name ${i}` }, (body) => body as never);
      await delivery.carriersChanged();
      expect(carriers.opened.get(account.id)).toHaveLength(i + 1);
    }
    await until('all are sent', async () =>
      Object.values(await rig.states()).every((state) => state === 'sent'),
    );
    const uids = [...(carriers.opened.get(account.id) ?? [])].flatMap((one) => one.uids());
    expect(uids).toHaveLength(1_000);
    expect(new Set(uids).size).toBe(1_000);
  });

  test('an account is given its own rate at most', async () => {
    const slow = await owner.make({ ratePerSecond: 20 });
    await owner.routes.put([{ channel: 'sms', toPrefix: '+44', accounts: to(slow) }]);
    const carriers = owner.carriers();
    const { delivery, sms } = await rig.process({}, { carriers });
    await delivery.acceptMany(rig.workspaceId, bulk('+44', 60));
    const since = Date.now();
    await delivery.acceptMany(rig.workspaceId, bulk('+1', 200));
    await until('the other account is done', () => sms.taken.length === 200);
    expect(carriers.of(slow).taken.length).toBeLessThan(60);
    await until('all have left', () => carriers.of(slow).taken.length === 60);
    expect(Date.now() - since).toBeGreaterThan(2_500);
  });
});
