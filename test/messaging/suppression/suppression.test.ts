/** Proves that no message to a suppressed address is sent. */

import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Suppression } from '../../../src/domain/suppression';
import { createSuppressionList, type SuppressionList } from '../../../src/messaging/suppression/suppression';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { endLeases } from '../end-leases';
import { allEvents, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

const PHONE = '+12025550123';

describeWithDatabase('suppressed recipients', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let one: TestProcess;
  let list: SuppressionList;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    one = await rig.process();
    list = createSuppressionList({ db: rig.db });
  });
  afterEach(() => rig.stop());

  const block = (more: Partial<Suppression> = {}) =>
    list.add(
      rig.workspaceId,
      { channel: 'sms', address: PHONE, reason: 'asked', sender: undefined, ...more },
      'api',
    );
  const accept = (message: Parameters<typeof one.delivery.accept>[1]) =>
    one.delivery.accept(rig.workspaceId, message);
  const untilState = (uid: string, wanted: string) =>
    until(`${uid} is ${wanted}`, async () => (await rig.states())[uid] === wanted);
  const eventTypes = async (uid: string) =>
    (await one.delivery.track(rig.workspaceId, uid)).events.map((event) => event.type);

  test('a message to one is recorded and never sent, and the others of the request go', async () => {
    await block();
    const answers = await one.delivery.acceptMany(rig.workspaceId, [
      rig.sms('s1'),
      rig.sms('s2', { to: '+12025550124' }),
      rig.sms('s3', { class: 'transactional' }),
      rig.sms('s4', { sendAt: new Date(Date.now() + 60_000).toISOString() }),
    ]);
    expect(answers.map((one) => one.ok && one.answer.state)).toEqual([
      'suppressed',
      'accepted',
      'suppressed',
      'suppressed',
    ]);
    await untilState('s2', 'sent');
    expect(one.sms.uids()).toEqual(['s2']);
    expect(await eventTypes('s1')).toEqual(['suppressed']);
    expect(await eventTypes('s4')).toEqual(['suppressed']);
    const events = await allEvents(one.delivery, rig.workspaceId);
    expect(events.map(({ uid, type, state }) => `${uid} ${type} ${state}`)).toEqual([
      's1 suppressed suppressed',
      's2 accepted accepted',
      's3 suppressed suppressed',
      's4 suppressed suppressed',
      's2 sent sent',
    ]);
    await expect(one.delivery.cancel(rig.workspaceId, 's4')).rejects.toMatchObject({
      code: 'not_cancelable',
    });
  });

  test('a repeated uid answers with the stored record, whatever the list says by then', async () => {
    await accept(rig.sms('before'));
    await untilState('before', 'sent');
    await block();
    await accept(rig.sms('after'));
    expect(await accept(rig.sms('before'))).toMatchObject({ state: 'sent', duplicate: true });
    expect(await accept(rig.sms('after'))).toMatchObject({ state: 'suppressed', duplicate: true });
    await list.remove(rig.workspaceId, { channel: 'sms', address: PHONE, anySender: true });
    expect(await accept(rig.sms('after'))).toMatchObject({ state: 'suppressed', duplicate: true });
    expect(await accept(rig.sms('later'))).toMatchObject({ state: 'accepted', duplicate: false });
    await untilState('later', 'sent');
    expect(one.sms.uids()).toEqual(['before', 'later']);
  });

  test('a block counts for its channel, for all, for a sender, and for its workspace only', async () => {
    const other = await createOutboxRig(storage);
    await block({ channel: 'all' });
    await block({ channel: 'email', address: 'Ada@Example.com', sender: 'News@example.com' });
    const stateOf = async (message: ReturnType<OutboxRig['sms']>, of = rig) =>
      (await one.delivery.accept(of.workspaceId, message)).state;
    expect(await stateOf(rig.sms('a1', { to: '+1 (202) 555-0123' }))).toBe('suppressed');
    expect(await stateOf(rig.email('a2', { to: 'ADA@example.COM' }))).toBe('accepted');
    expect(await stateOf(rig.email('a3', { to: 'ADA@example.COM', from: 'news@EXAMPLE.com' }))).toBe(
      'suppressed',
    );
    expect(await stateOf(rig.email('a4', { from: '"The news" <news@example.com>' }))).toBe('suppressed');
    expect(await stateOf(other.sms('a5'), other)).toBe('accepted');
    await other.stop();
  });

  test('a block that comes between acceptance and hand-over keeps the message back', async () => {
    await one.delivery.hold(rig.workspaceId, 'c1');
    await accept(rig.sms('h1', { campaign: 'c1' }));
    await accept(rig.sms('h2', { campaign: 'c1', to: '+12025550124' }));
    await block();
    await one.delivery.release(rig.workspaceId, 'c1');
    await untilState('h1', 'suppressed');
    await untilState('h2', 'sent');
    expect(one.sms.uids()).toEqual(['h2']);
    expect(await eventTypes('h1')).toEqual(['accepted', 'suppressed']);
    expect(await rig.db.selectFrom('handover_batches').selectAll().execute()).toEqual([]);
  });

  test('a block is heeded before a message is tried again', async () => {
    let tries = 0;
    one.sms.script = () => {
      tries += 1;
      return { kind: 'transient', code: 'busy', retryAfterMs: 300 };
    };
    await accept(rig.sms('t1'));
    await until('it was tried', () => tries === 1);
    await block();
    await untilState('t1', 'suppressed');
    expect(tries).toBe(1);
  });

  test('while blocks come and go, no message leaves after the block that covers it', async () => {
    const slow = () => ({ sms: new ScriptedProvider('sms', { batchMax: 1 }) });
    const first = await rig.process(slow());
    const second = await rig.process(slow());
    const addresses = Array.from({ length: 60 }, (_, i) => `+1202555${String(1_000 + i)}`);
    const blockedAt = new Map<string, number>();
    const left: { to: string; at: number }[] = [];
    for (const process of new Set([first, second])) {
      process.sms.script = async (message) => {
        left.push({ to: message.to, at: performance.now() });
        await delay(15);
        return { kind: 'accepted', providerId: message.id };
      };
    }
    await first.delivery.hold(rig.workspaceId, 'race');
    for (const [k, process] of [first, second].entries()) {
      const messages = addresses.map((to, i) => rig.sms(`r${k}-${i}`, { to, campaign: 'race' }));
      await process.delivery.acceptMany(rig.workspaceId, messages);
    }
    await Promise.all([
      first.delivery.release(rig.workspaceId, 'race'),
      ...addresses.map(async (address, i) => {
        if (i % 2) return;
        await block({ address });
        blockedAt.set(address, performance.now());
      }),
    ]);
    await until('all have ended', async () =>
      Object.values(await rig.states()).every((state) => state === 'sent' || state === 'suppressed'),
    );
    // A batch that was opened before the block may still be on its way to the provider.
    const graceMs = 50;
    expect(left.filter(({ to, at }) => at > (blockedAt.get(to) ?? at) + graceMs)).toEqual([]);
    const states = await rig.states();
    expect(Object.values(states).filter((state) => state === 'sent')).toHaveLength(left.length);
    expect(left.length).toBeLessThan(120);
  });

  test('a keyword takes the place of nothing but a keyword', async () => {
    const add = (source: 'api' | 'keyword' | 'complaint', reason: string) =>
      list.add(rig.workspaceId, { channel: 'sms', address: PHONE, reason, sender: undefined }, source);
    expect(await add('keyword', 'STOP')).toMatchObject({ created: true, suppression: { source: 'keyword' } });
    expect(await add('complaint', 'spam')).toMatchObject({
      created: false,
      suppression: { source: 'complaint', reason: 'spam' },
    });
    expect(await add('keyword', 'STOP')).toMatchObject({ suppression: { source: 'complaint' } });
  });
});

describeWithDatabase('blocks and a batch that was found open', (database) => {
  test('what is blocked by then is not offered again, and unknown', async () => {
    const rig = await createOutboxRig(await database.open());
    const idempotent = () => ({ sms: new ScriptedProvider('sms', { idempotent: true }) });
    const first = await rig.process(idempotent());
    first.sms.script = first.sms.hang;
    await first.delivery.acceptMany(rig.workspaceId, [
      rig.sms('blocked'),
      rig.sms('late', { to: '+12025550125', expiresAt: new Date(Date.now() + 600_000).toISOString() }),
      rig.sms('free', { to: '+12025550124' }),
    ]);
    await until('they are on their way', () => first.sms.taken.length === 3);
    await sql`update messages set expires_at = now() where uid = 'late'`.execute(rig.db);
    const list = createSuppressionList({ db: rig.db });
    await list.add(
      rig.workspaceId,
      { channel: 'sms', address: PHONE, reason: 'asked', sender: undefined },
      'api',
    );
    await endLeases(rig.db);
    const second = await rig.process(idempotent());
    await until('all are settled', async () =>
      Object.values(await rig.states()).every((state) => state !== 'accepted'),
    );
    expect(await rig.states()).toEqual({ blocked: 'unknown', late: 'unknown', free: 'sent' });
    expect(second.sms.uids()).toEqual(['free']);
    await rig.stop();
  });
});
