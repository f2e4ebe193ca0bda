import { type Account, providerName } from '../../../src/domain/account';
import type { HandOverResult } from '../../../src/providers/provider';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';
import { type AccountsRig, createAccountsRig } from './accounts-rig';

const REFUSED: HandOverResult = { kind: 'account', code: 'http_401', message: 'Wrong key' };

/** The carriers that answer each message by itself, and those that answer whole batches. */
const WAYS_OF_ANSWERING = [
  { answersEach: true, parallel: 50, batchMax: 1 },
  { answersEach: false, parallel: 50, batchMax: 50 },
];

describeWithDatabase('probes of a refused account', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let owner: AccountsRig;
  let account: Account;
  /** What arrives at the carrier, by whichever process, in order. */
  let arrived: { uid: string; process: string; atMs: number }[];
  let isKnown: boolean;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    owner = createAccountsRig(storage);
    account = await owner.make();
    await owner.routes.put([{ channel: 'sms', accounts: [{ account: account.id }] }]);
    arrived = [];
    isKnown = false;
  });
  afterEach(async () => {
    await rig.stop();
    await owner.routes.put([]);
  });

  const start = (process: string, capabilities: Partial<ScriptedProvider['capabilities']> = {}) =>
    rig.process(
      {},
      {
        carriers: owner.carriers(() => {
          const carrier = new ScriptedProvider('sms', capabilities, providerName(account));
          carrier.script = async ({ id, uid }) => {
            arrived.push({ uid, process, atMs: Date.now() });
            const answer: HandOverResult = isKnown ? { kind: 'accepted', providerId: `p:${id}` } : REFUSED;
            await new Promise((done) => setTimeout(done, 20));
            return answer;
          };
          return carrier;
        }),
      },
    );
  const bulk = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, i) => rig.sms(`${prefix}${i}`, { to: `+4420${5_550_000 + i}` }));
  const stateIn = ({ delivery }: TestProcess) =>
    delivery.accounts().find((one) => one.account === account.id)?.state;
  const isPausedIn = (process: TestProcess) => () => stateIn(process) === 'paused';
  const quiet = (ms: number) => new Promise((done) => setTimeout(done, ms));

  test.each(WAYS_OF_ANSWERING)(
    'after a change it is offered one message, and opens with that one ($answersEach)',
    async (capabilities) => {
      const here = await start('a', capabilities);
      await here.delivery.acceptMany(rig.workspaceId, bulk('m', 200));
      await until('it is paused', isPausedIn(here));
      await quiet(500);
      const before = arrived.length;
      await owner.change(account, { name: 'Changed for nothing' });
      await here.delivery.carriersChanged();
      await until('it was tried', () => arrived.length > before);
      await quiet(500);
      expect(arrived.length - before).toBe(1);
      expect(stateIn(here)).toBe('paused');

      isKnown = true;
      const refused = arrived.length;
      await owner.change(account, { name: 'Changed for good' });
      await here.delivery.carriersChanged();
      await until('all are sent', async () =>
        Object.values(await rig.states()).every((state) => state === 'sent'),
      );
      expect(arrived.length - refused).toBe(200);
      expect(stateIn(here)).toBe('ok');
      const [first, second] = arrived.slice(refused);
      // The probe is answered before anything else leaves.
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(19);
    },
  );

  test('a good check offers one message', async () => {
    const here = await start('a', WAYS_OF_ANSWERING[0]);
    await here.delivery.acceptMany(rig.workspaceId, bulk('m', 200));
    await until('it is paused', isPausedIn(here));
    await quiet(500);
    const before = arrived.length;
    await here.delivery.probeAccount(account.id);
    await until('it was tried', () => arrived.length > before);
    await quiet(500);
    expect(arrived.length - before).toBe(1);
  });

  test('a probe finds a message where all were refused and wait for their next try', async () => {
    const here = await start('a');
    await here.delivery.acceptMany(rig.workspaceId, bulk('m', 10));
    await until('all were refused', () => arrived.length >= 10);
    await until('it is recorded', async () => {
      const rows = await rig.db.selectFrom('messages').select('code').execute();
      return rows.filter(({ code }) => code === 'provider_account').length >= 10;
    });
    for (const tryNow of [
      () => owner.change(account, { name: 'Changed' }).then(() => here.delivery.carriersChanged()),
      () => here.delivery.probeAccount(account.id),
    ]) {
      const before = arrived.length;
      await tryNow();
      await until('it was tried', () => arrived.length > before, 2_000);
      await quiet(300);
      expect(arrived.length - before).toBe(1);
    }
  });

  test('a probe finds a message also where what was refused is not recorded yet', async () => {
    const here = await start('a');
    await here.delivery.acceptMany(rig.workspaceId, bulk('m', 10));
    await until('all were refused', () => arrived.length >= 10 && isPausedIn(here)());
    await here.delivery.probeAccount(account.id);
    await until('it was tried', () => arrived.length > 10, 2_000);
    await quiet(300);
    expect(arrived).toHaveLength(11);
  });

  test('a good check at one process lets another that is refused try', async () => {
    const [one, other] = [await start('a'), await start('b')];
    await one.delivery.acceptMany(rig.workspaceId, bulk('a', 200));
    await until('it is paused', isPausedIn(one));
    await one.delivery.carriersChanged();
    const before = arrived.length;
    await other.delivery.probeAccount(account.id);
    await one.delivery.carriersChanged();
    await until('it was tried', () => arrived.length > before, 1_000);
    // The same request is heard once.
    await one.delivery.carriersChanged();
    await quiet(500);
    expect(arrived.length - before).toBe(1);
  });

  test('two processes that are both refused offer one message between them', async () => {
    const [one, other] = [await start('a'), await start('b')];
    await one.delivery.acceptMany(rig.workspaceId, bulk('a', 100));
    await other.delivery.acceptMany(rig.workspaceId, bulk('b', 100));
    await until('both are refused', () => isPausedIn(one)() && isPausedIn(other)());
    for (const { delivery } of [one, other]) await delivery.carriersChanged();
    for (const { delivery } of [one, other]) await delivery.carriersChanged();
    const before = arrived.length;
    await owner.change(account, { name: 'Changed for nothing' });
    for (const { delivery } of [other, one]) await delivery.carriersChanged();
    await until('it was tried', () => arrived.length > before);
    await quiet(1_500);
    expect(arrived.slice(before)).toHaveLength(1);

    isKnown = true;
    const since = Date.now();
    await owner.change(account, { name: 'Changed for good' });
    for (const { delivery } of [other, one]) await delivery.carriersChanged();
    await until('all are sent', async () =>
      Object.values(await rig.states()).every((state) => state === 'sent'),
    );
    expect(Date.now() - since).toBeLessThan(10_000);
    expect([stateIn(one), stateIn(other)]).toEqual(['ok', 'ok']);
  });

  test('a process that is refused alone does not stop another', async () => {
    const [one, other] = [await start('a'), await start('b')];
    await one.delivery.acceptMany(rig.workspaceId, bulk('a', 10));
    await until('it is paused', isPausedIn(one));
    isKnown = true;
    await other.delivery.acceptMany(rig.workspaceId, bulk('b', 10));
    await until('the other has sent', () => arrived.filter(({ process }) => process === 'b').length === 10);
  });

  test('every process shows that one is refused, until it is dead or opens again', async () => {
    const [one, other] = [await start('a'), await start('b')];
    await one.delivery.acceptMany(rig.workspaceId, bulk('a', 10));
    await until('it is paused', isPausedIn(one));
    const shownBy = async ({ delivery }: TestProcess) =>
      (await delivery.accountStates()).find((shown) => shown.account === account.id);
    const shown = await (async () => {
      await until('the other knows', async () => (await shownBy(other))?.state === 'paused');
      return shownBy(other);
    })();
    expect(shown).toEqual(await shownBy(one));
    expect(shown).toMatchObject({ channel: 'sms', kind: 'http', state: 'paused', reason: 'http_401' });
    expect(stateIn(other)).toBe('ok');

    // Of a process that is dead, nothing is shown.
    await rig.db
      .updateTable('account_pauses')
      .set({ lease_until: new Date(0) })
      .execute();
    expect((await shownBy(other))?.state).toBe('ok');
    await until('it is told again', async () => (await shownBy(other))?.state === 'paused');

    isKnown = true;
    await one.delivery.probeAccount(account.id);
    await until('it is open for both', async () => (await shownBy(other))?.state === 'ok');
    const rows = await rig.db.selectFrom('account_pauses').selectAll().execute();
    expect(rows).toEqual([]);
  });
});
