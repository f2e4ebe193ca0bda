import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { type Account, providerName } from '../../../src/domain/account';
import { LIMITS } from '../../../src/domain/limits';
import { openHttpProvider } from '../../../src/providers/http-provider';
import type { Provider } from '../../../src/providers/provider';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig } from '../outbox-rig';
import { type AccountsRig, createAccountsRig } from './accounts-rig';

/**
 * How a request can end, what the carrier may have taken by then, and whether the next account may have the message. An
 * answer is what is written; nothing is written where the connection is reset, or the carrier is silent.
 */
const ENDINGS = {
  taken: { answer: '200 OK', took: 'yes', next: false },
  'reset in the request': { reset: 'early', took: 'perhaps', next: false },
  'reset after the request': { reset: 'late', took: 'perhaps', next: false },
  'no answer in time': { reset: 'never', took: 'perhaps', next: false },
  '400 with a code': { answer: '400 Bad Request', body: '{"code":"bad_number"}', took: 'no', next: false },
  '401': { answer: '401 Unauthorized', took: 'no', next: true },
  '402': { answer: '402 Payment Required', took: 'no', next: true },
  '500': { answer: '500 Internal Server Error', took: 'perhaps', next: false },
  '503': { answer: '503 Service Unavailable', took: 'perhaps', next: false },
  'throttled for a moment': { answer: '429 Too Many Requests', after: 1, took: 'no', next: false },
  'throttled for long': { answer: '429 Too Many Requests', after: 600, took: 'no', next: true },
} as const;
type Ending = keyof typeof ENDINGS;
const SILENT_MS = 300;

/** A carrier that ends the requests of each message as it was told, one after the other, and then takes it. */
class Carrier {
  readonly requests: { uid: string; ending: Ending }[] = [];
  readonly plan = new Map<string, Ending[]>();
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  port = 0;

  async listen(): Promise<void> {
    const server = createServer((socket) => {
      this.sockets.add(socket);
      let text = '';
      socket.on('error', () => undefined);
      socket.on('close', () => this.sockets.delete(socket));
      socket.on('data', (chunk) => {
        text += chunk.toString('utf8');
        const [head = '', body] = text.split('\r\n\r\n');
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        if (body === undefined || Buffer.byteLength(body) < length) return;
        text = '';
        this.end(socket, (JSON.parse(body) as { uid: string }).uid);
      });
    });
    this.server = server;
    await new Promise<void>((done) => server.listen(this.port, '127.0.0.1', done));
    this.port = (server.address() as { port: number }).port;
  }

  private end(socket: Socket, uid: string): void {
    const ending = this.plan.get(uid)?.shift() ?? 'taken';
    this.requests.push({ uid, ending });
    const how = ENDINGS[ending];
    if ('reset' in how) {
      if (how.reset === 'never') return;
      if (how.reset === 'late') socket.write('HTTP/1.1 20');
      socket.resetAndDestroy();
      return;
    }
    const body = 'body' in how ? how.body : '{"id":"given"}';
    const after = 'after' in how ? `retry-after: ${how.after}\r\n` : '';
    socket.write(
      `HTTP/1.1 ${how.answer}\r\n${after}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((done) => this.server?.close(done) ?? done(undefined));
    this.server = undefined;
  }

  of(uid: string): Ending[] {
    return this.requests.filter((one) => one.uid === uid).map(({ ending }) => ending);
  }
}

describeWithDatabase('failover', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let owner: AccountsRig;
  let first: Carrier;
  let second: Carrier;
  let accounts: Account[];
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    owner = createAccountsRig(storage);
    [first, second] = [new Carrier(), new Carrier()];
    await first.listen();
    await second.listen();
    accounts = [await owner.make(), await owner.make()];
    await owner.routes.put([
      { channel: 'sms', accounts: accounts.map(({ id }) => ({ account: id })), failover: true },
    ]);
  });
  afterEach(async () => {
    await rig.stop();
    await owner.routes.put([]);
    await first.close();
    await second.close();
  });

  /** The answer is waited for briefly only where a carrier is silent: a busy machine makes others answer late, whose messages are then in doubt. */
  async function start(idempotent: boolean, answerTimeoutMs = 30_000) {
    const carriers = owner.carriers();
    const open = async (account: Account): Promise<Provider[]> => {
      const carrier = [first, second][accounts.findIndex(({ id }) => id === account.id)];
      if (!carrier) return [];
      const provider = openHttpProvider({
        ...{ channel: 'sms', url: `http://127.0.0.1:${carrier.port}/`, idempotent, answerTimeoutMs },
      });
      return [{ ...provider, name: providerName(account) }];
    };
    const { delivery } = await rig.process({}, { carriers: { ...carriers, open } });
    return delivery;
  }

  /** Every ending that the first account gave a message allows the next one to have it. */
  function expectExact(uid: string): void {
    const [atFirst, atSecond] = [first.of(uid), second.of(uid)];
    if (atFirst.length > 0 && atSecond.length > 0) {
      expect({
        uid,
        atFirst,
        mayHave: atFirst.map((one) => ENDINGS[one].next || ENDINGS[one].took === 'no'),
      }).toEqual({
        ...{ uid, atFirst, mayHave: atFirst.map(() => true) },
      });
    }
    const taken = [...atFirst, ...atSecond].filter((one) => one === 'taken').length;
    expect({ uid, twice: taken > 1 }).toEqual({ uid, twice: false });
  }

  test.each(Object.keys(ENDINGS) as Ending[])(
    'after “%s” the next account is given the message only if nothing of it can be with the first',
    async (ending) => {
      const delivery = await start(false, ending === 'no answer in time' ? SILENT_MS : undefined);
      first.plan.set('one', [ending]);
      await delivery.accept(rig.workspaceId, rig.sms('one'));
      const { next } = ENDINGS[ending];
      if (next) {
        await until('the next account has it', () => second.of('one').length === 1, 5_000);
        expect(first.of('one')).toEqual([ending]);
        await until('it is sent', async () => (await rig.states()).one === 'sent');
        return;
      }
      await until('the first has answered', () => first.of('one').length > 0);
      await until('it is settled or tried again', async () =>
        (await rig.states()).one !== 'accepted' ? true : first.of('one').length > 1,
      );
      await new Promise((done) => setTimeout(done, 300));
      expect(second.requests).toEqual([]);
    },
  );

  test('an account that cannot be connected to spends nobody, and the next one has its messages', async () => {
    await first.close();
    const delivery = await start(false);
    const messages = Array.from({ length: 50 }, (_, i) => rig.sms(`m${i}`));
    await delivery.acceptMany(rig.workspaceId, messages);
    await until('all are sent', async () =>
      Object.values(await rig.states()).every((state) => state === 'sent'),
    );
    expect(new Set(second.requests.map(({ uid }) => uid)).size).toBe(50);
    expect(second.requests).toHaveLength(50);
    expect(delivery.accounts().find(({ account }) => account === accounts[0]?.id)).toMatchObject({
      state: 'paused',
      reason: 'ECONNREFUSED',
    });
    // Back again, it is found by a single probe and has its messages from then on.
    await first.listen();
    for (let i = 0; first.requests.length < 3; i++) {
      await delivery.accept(rig.workspaceId, rig.sms(`later${i}`));
      await new Promise((done) => setTimeout(done, 100));
      if (i > 400) throw new Error('The first account was never tried again');
    }
    expect(delivery.accounts().find(({ account }) => account === accounts[0]?.id)?.state).toBe('ok');
  });

  test('one message that stays with an account that is down holds up no other of its flow', async () => {
    const delivery = await start(false);
    // It may have taken this one, which therefore waits for it in memory from its next try on.
    first.plan.set('bound', ['503']);
    first.plan.set('down', ['throttled for long']);
    const sendAt = new Date(Date.now() + 4_000).toISOString();
    const messages = [rig.sms('bound'), rig.sms('down'), { ...rig.sms('later'), sendAt }];
    await delivery.acceptMany(rig.workspaceId, messages);
    await until('the next account has the other', () => second.of('down').length === 1);
    await until('the next account has what falls due', () => second.of('later').length === 1, 8_000);
    expect(first.of('bound')).toEqual(['503']);
    expect(second.of('bound')).toEqual([]);
  });

  test('more messages than memory has for a flow, which stay with an account that is down, hold up no other of it', async () => {
    const delivery = await start(false);
    const bound = Array.from({ length: LIMITS.queuedTransactional + 20 }, (_, i) => `bound${i}`);
    const [sooner, sendAt] = [6_000, 7_000].map((ms) => new Date(Date.now() + ms).toISOString());
    await delivery.acceptMany(rig.workspaceId, [
      ...bound.map((uid) => rig.sms(uid, { class: 'transactional', sendAt: sooner })),
      rig.sms('later', { class: 'transactional', sendAt }),
    ]);
    // As an answer that may mean that it was taken.
    const perhaps = { attempt: 1, provider: providerName(accounts[0] as Account) };
    await rig.db.updateTable('messages').set(perhaps).where('uid', 'in', bound).execute();
    for (const uid of ['down', ...bound])
      first.plan.set(
        uid,
        Array.from({ length: 9 }, () => '401' as const),
      );
    await delivery.accept(rig.workspaceId, rig.sms('down'));
    await until('the next account has the other', () => second.of('down').length === 1);
    await until('the next account has what falls due', () => second.of('later').length === 1, 20_000);
    expect(bound.filter((uid) => second.of(uid).length > 0)).toEqual([]);
    first.plan.clear();
    await delivery.probeAccount(accounts[0]?.id ?? '');
    const waits = rig.db.selectFrom('messages').select('id').where('due_at', 'is not', null);
    await until('none waits', async () => (await waits.execute()).length === 0, 20_000);
    expect(
      bound.filter(
        (uid) => first.of(uid).filter((one) => one === 'taken').length !== 1 || second.of(uid).length > 0,
      ),
    ).toEqual([]);
  }, 60_000);

  test('what an account may have got, and knows again, goes by no other while it is disabled', async () => {
    const url = 'https://carrier.example/';
    const knowing = await owner.make({ settings: { url, idempotent: true } });
    accounts = [knowing, accounts[1] as Account];
    await owner.routes.put([
      { channel: 'sms', accounts: accounts.map(({ id }) => ({ account: id })), failover: true },
    ]);
    const delivery = await start(true);
    const sendAt = new Date(Date.now() + 3_000).toISOString();
    first.plan.set('perhaps', ['reset after the request']);
    await delivery.acceptMany(rig.workspaceId, [rig.sms('perhaps'), { ...rig.sms('other'), sendAt }]);
    const attempts = () =>
      rig.db.selectFrom('messages').select('attempt').where('uid', '=', 'perhaps').executeTakeFirst();
    await until('the lost answer is recorded', async () => (await attempts())?.attempt === 1);
    await owner.change(knowing, { disabled: true });
    await delivery.carriersChanged();
    await until('the next account has the other', () => second.of('other').length === 1, 8_000);
    await delay(1_000);
    expect(second.of('perhaps')).toEqual([]);
    await expect(owner.accounts.remove(knowing.id)).rejects.toMatchObject({ code: 'account_routed' });
    await owner.routes.put([]);
    await expect(owner.accounts.remove(knowing.id)).rejects.toMatchObject({ code: 'account_busy' });
    // Another carrier does not know the key of the message, and one that is not idempotent knows none.
    for (const settings of [{ url: 'https://other.example/' }, { idempotent: false }, { idempotent: null }])
      await expect(owner.change(knowing, { settings })).rejects.toMatchObject({ code: 'account_busy' });
    await owner.change(knowing, { settings: { url }, secrets: { headers: { authorization: 'Bearer 2' } } });
    await owner.change(knowing, { disabled: false });
    await delivery.carriersChanged();
    await until('it is sent', async () => (await rig.states()).perhaps === 'sent');
    expect(first.of('perhaps')).toEqual(['reset after the request', 'taken']);
    await owner.change(knowing, { settings: { url: 'https://other.example/' } });
  });

  test('an account that knows messages again and has got none can be led to another address', async () => {
    const knowing = await owner.make({ settings: { url: 'https://carrier.example/', idempotent: true } });
    await owner.routes.put([{ channel: 'sms', accounts: [{ account: knowing.id }] }]);
    accounts = [knowing];
    await first.close();
    const delivery = await start(true);
    await delivery.accept(rig.workspaceId, rig.sms('waits'));
    await until('it is paused', () =>
      delivery.accounts().some(({ account, state }) => account === knowing.id && state === 'paused'),
    );
    // Its group is closed up to 0.1 s after the answer.
    const open = () => rig.db.selectFrom('handover_batches').select('id').execute();
    await until('nothing is under way', async () => (await open()).length === 0);
    await owner.change(knowing, { settings: { url: 'https://other.example/' } });
    await first.listen();
    await delivery.carriersChanged();
    await until('it is sent', () => first.requests.length === 1);
  });

  test('whatever the first account does to each of many messages, none is with both', async () => {
    const delivery = await start(false, SILENT_MS);
    const ending = fc.constantFrom(...(Object.keys(ENDINGS) as Ending[]));
    let round = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(ending, { maxLength: 2 }), { minLength: 1, maxLength: 12 }),
        async (plans) => {
          round += 1;
          const uids = plans.map((_, i) => `r${round}-${i}`);
          uids.forEach((uid, i) => {
            first.plan.set(uid, [...(plans[i] ?? [])]);
          });
          await delivery.acceptMany(
            rig.workspaceId,
            uids.map((uid) => rig.sms(uid)),
          );
          await until('each was offered', () =>
            uids.every((uid) => first.of(uid).length + second.of(uid).length > 0),
          );
          await delivery.probeAccount(accounts[0]?.id ?? '');
          for (const uid of uids) expectExact(uid);
        },
      ),
      { numRuns: 15, endOnFailure: true },
    );
    await new Promise((done) => setTimeout(done, 2_000));
    for (const uid of new Set([...first.requests, ...second.requests].map((one) => one.uid)))
      expectExact(uid);
    expect(second.requests.length).toBeGreaterThan(0);
  });
});
