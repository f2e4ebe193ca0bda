import type { Account } from '../../../src/domain/account';
import { LIMITS } from '../../../src/domain/limits';
import { createLog } from '../../../src/log';
import { closedSendersOf, closeSender } from '../../../src/messaging/carriers/closed-senders';
import { keepExpiring } from '../../../src/messaging/retention';
import type { HandOver, HandOverResult } from '../../../src/providers/provider';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig } from '../outbox-rig';
import { type AccountsRig, createAccountsRig } from './accounts-rig';

const REFUSED = '+12025550100';
const OTHER = '+12025550101';

/** A carrier with which one number is not registered. */
const unregistered = ({ id, from }: HandOver): HandOverResult =>
  from === REFUSED
    ? { kind: 'sender', code: '30034', message: 'Not registered, for +12025550123' }
    : { kind: 'accepted', providerId: `p:${id}` };

describeWithDatabase('senders that an account refuses', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let owner: AccountsRig;
  let first: Account;
  let second: Account;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    owner = createAccountsRig(storage);
    first = await owner.make();
    second = await owner.make();
  });
  afterEach(async () => {
    await rig.stop();
    await owner.routes.put([]);
  });

  const route = (failover: boolean) =>
    owner.routes.put([
      { channel: 'sms', accounts: [first, second].map(({ id }) => ({ account: id })), failover },
    ]);
  const sent = async (uid: string) => (await rig.states())[uid] === 'sent';
  const closedAt = async (account: Account) => (await closedSendersOf(rig.db, [account.id])).get(account.id);

  async function start() {
    const carriers = owner.carriers();
    const { delivery } = await rig.process({}, { carriers });
    carriers.of(first).script = unregistered;
    return { delivery, carriers };
  }

  test('with failover its messages go to the next account, and those of other senders stay', async () => {
    await route(true);
    const { delivery, carriers } = await start();
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    await delivery.acceptMany(
      rig.workspaceId,
      numbers.map((i) => rig.sms(`m${i}`, { from: i % 2 === 0 ? REFUSED : OTHER })),
    );
    await until('all are sent', async () =>
      Object.values(await rig.states()).every((state) => state === 'sent'),
    );
    expect(carriers.of(second).taken.every(({ from }) => from === REFUSED)).toBe(true);
    expect(new Set(carriers.of(second).uids()).size).toBe(10);
    expect(carriers.of(second).taken).toHaveLength(10);
    await until('it is written', async () => (await closedAt(first))?.length === 1);
    expect(await closedAt(first)).toEqual([
      {
        channel: 'sms',
        sender: REFUSED,
        code: '30034',
        message: 'Not registered, for …',
        since: expect.any(String),
      },
    ]);
    expect(await closedAt(second)).toEqual([]);
    expect(delivery.accounts().find(({ account }) => account === first.id)?.state).toBe('ok');
    // Refused once, it is not offered there again.
    const offered = carriers.of(first).taken.length;
    await delivery.accept(rig.workspaceId, rig.sms('later', { from: REFUSED }));
    await until('it is sent', () => sent('later'));
    expect(carriers.of(first).taken).toHaveLength(offered);
  });

  test('without failover its messages wait unspent, say why, and leave as soon as an owner reopens it', async () => {
    await route(false);
    const { delivery, carriers } = await start();
    await delivery.accept(rig.workspaceId, rig.sms('waits', { from: REFUSED }));
    await until('it is closed', async () => (await closedAt(first))?.length === 1);
    await delivery.accept(rig.workspaceId, rig.sms('other', { from: OTHER }));
    await delivery.accept(rig.workspaceId, rig.sms('waits-too', { from: REFUSED }));
    await until('the other is sent', () => sent('other'));
    expect(carriers.of(second).taken).toEqual([]);
    expect(carriers.of(first).uids()).toEqual(['waits', 'other']);
    const [story] = await delivery.stories(rig.workspaceId, ['waits-too']);
    expect(story?.waits).toMatchObject({ why: 'account', code: '30034' });
    expect(await delivery.track(rig.workspaceId, 'waits')).toMatchObject({ state: 'accepted' });

    carriers.of(first).script = ({ id }) => ({ kind: 'accepted', providerId: `p:${id}` });
    await owner.accounts.reopen(first.id, { sender: REFUSED });
    await until('both are sent', async () => (await sent('waits')) && (await sent('waits-too')), 6_000);
    expect(await closedAt(first)).toEqual([]);
  });

  test('another process, and one that is started later, know of it', async () => {
    await route(true);
    const one = await start();
    const other = owner.carriers();
    const { delivery } = await rig.process({}, { carriers: other });
    await one.delivery.accept(rig.workspaceId, rig.sms('first', { from: REFUSED }));
    await until('it is sent', () => sent('first'));
    await until('it is written', async () => (await closedAt(first))?.length === 1);
    await delivery.carriersChanged();
    await delivery.accept(rig.workspaceId, rig.sms('there', { from: REFUSED }));
    const late = owner.carriers();
    const started = await rig.process({}, { carriers: late });
    await started.delivery.accept(rig.workspaceId, rig.sms('late', { from: REFUSED }));
    await until('both are sent', async () => (await sent('there')) && (await sent('late')));
    expect([...other.of(first).taken, ...late.of(first).taken]).toEqual([]);
  });

  test('a receipt closes it too, but not one of what was handed over before it was reopened', async () => {
    await route(true);
    const { delivery, carriers } = await start();
    carriers.of(first).script = ({ uid }) => ({ kind: 'accepted', providerId: `p:${uid}` });
    for (const uid of ['early', 'late']) {
      await delivery.accept(rig.workspaceId, rig.sms(uid, { from: REFUSED }));
      await until('it is sent', () => sent(uid));
    }
    const provider = carriers.of(first).name;
    const refusal = (uid: string) => [{ providerId: `p:${uid}`, code: '30034' }];
    await delivery.sendersRefused('http:another', refusal('early'));
    expect(await closedAt(first)).toEqual([]);
    await delivery.sendersRefused(provider, refusal('early'));
    expect(await closedAt(first)).toMatchObject([{ sender: REFUSED, code: '30034' }]);
    await owner.accounts.reopen(first.id, {});
    await delivery.carriersChanged();
    await delivery.sendersRefused(provider, refusal('late'));
    expect(await closedAt(first)).toEqual([]);
    await delivery.accept(rig.workspaceId, rig.sms('after', { from: REFUSED }));
    await until('it is sent', () => sent('after'));
    await delivery.sendersRefused(provider, refusal('after'));
    expect(await closedAt(first)).toMatchObject([{ sender: REFUSED }]);
  });

  test('a receipt that names no account closes it where its message was carried', async () => {
    await route(false);
    const { delivery, carriers } = await start();
    carriers.of(first).script = ({ uid }) => ({ kind: 'accepted', providerId: `p:${uid}` });
    await delivery.accept(rig.workspaceId, rig.sms('refused', { from: REFUSED }));
    await until('it is sent', () => sent('refused'));
    const { id } = (await delivery.track(rig.workspaceId, 'refused')) as { id: string };
    await delivery.sendersRefused('kannel', [{ id, code: 'smpp_0x0a' }]);
    expect(await closedAt(first)).toEqual([]);
    await delivery.sendersRefused('http', [{ id, code: 'smpp_0x0a' }]);
    expect(await closedAt(first)).toMatchObject([{ sender: REFUSED, code: 'smpp_0x0a' }]);
    expect(await closedAt(second)).toEqual([]);
  });

  test('nothing is left of it when its account is deleted', async () => {
    await route(false);
    const { delivery } = await start();
    await delivery.accept(rig.workspaceId, rig.sms('waits', { from: REFUSED }));
    await until('it is closed', async () => (await closedAt(first))?.length === 1);
    await owner.routes.put([]);
    await until('it is sent by the default', () => sent('waits'), 6_000);
    await owner.accounts.remove(first.id);
    expect(await closedAt(first)).toEqual([]);
  });

  test('made-up senders of one account take no room from another, and the latest stay closed', async () => {
    const close = (accountId: string, from: string) =>
      closeSender(rig.db, { ...{ accountId, channel: 'sms', from }, code: '21606', message: 'Not ours' });
    await close(second.id, REFUSED);
    await close(first.id, 'reopened');
    await owner.accounts.reopen(first.id, {});
    const bound = LIMITS.closedSendersOfAccount;
    for (let i = 0; i < bound + 20; i++) await close(first.id, `made-up-${i}`);
    // Closed already, it makes no other give way.
    for (let i = 0; i < 5; i++) await close(first.id, `made-up-${bound + 19}`);
    const senders = ((await closedAt(first)) ?? []).map(({ sender }) => sender);
    expect(senders).toHaveLength(bound);
    expect(new Set(senders).has(`made-up-${bound + 19}`)).toBe(true);
    expect(senders.some((one) => one === 'made-up-19' || one === 'reopened')).toBe(false);
    expect(senders).toContain('made-up-20');
    expect(await closedAt(second)).toHaveLength(1);
    const kept = await rig.db.selectFrom('account_senders').select('sender').execute();
    expect(kept.some(({ sender }) => sender === 'reopened')).toBe(false);
  });

  test('one that was reopened is forgotten when no receipt from before can come any more', async () => {
    await closeSender(rig.db, {
      ...{ accountId: first.id, channel: 'sms', from: REFUSED, code: '21606', message: 'Not ours' },
    });
    await owner.accounts.reopen(first.id, {});
    const rows = () =>
      rig.db.selectFrom('account_senders').select('sender').where('account_id', '=', first.id).execute();
    const log = createLog('silent');
    const sweepAt = async (days: number) => {
      const expiry = keepExpiring({ db: rig.db, log, now: () => Date.now() + days * 86_400_000 });
      await expiry.sweep();
      expiry.stop();
    };
    await sweepAt(LIMITS.reopenedSenderDays - 1);
    expect(await rows()).toHaveLength(1);
    await sweepAt(LIMITS.reopenedSenderDays + 1);
    expect(await rows()).toEqual([]);
  });
});
