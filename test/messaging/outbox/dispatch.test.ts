import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import { LIMITS } from '../../../src/domain/limits';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { allEvents, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

describeWithDatabase('handing messages over', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let one: TestProcess;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    one = await rig.process();
  });
  afterEach(() => rig.stop());

  const accept = (...messages: Parameters<typeof one.delivery.accept>[1][]) =>
    Promise.all(messages.map((message) => one.delivery.accept(rig.workspaceId, message)));
  const untilState = (uid: string, wanted: string) =>
    until(`${uid} is ${wanted}`, async () => (await rig.states())[uid] === wanted);
  const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

  test('many messages go out in batches, each exactly once', async () => {
    const messages = Array.from({ length: 1_500 }, (_, i) => rig.sms(`m${i}`));
    await one.delivery.acceptMany(rig.workspaceId, messages);
    await until('all are sent', async () => Object.values(await rig.states()).every((s) => s === 'sent'));
    expect(new Set(one.sms.uids()).size).toBe(1_500);
    expect(one.sms.taken).toHaveLength(1_500);
    expect(one.sms.batches.length).toBeLessThan(40);
    expect(await rig.db.selectFrom('handover_batches').selectAll().execute()).toEqual([]);
    expect(await allEvents(one.delivery, rig.workspaceId)).toHaveLength(3_000);
  });

  test('more than fits in memory waits in the table and goes out in order of acceptance', async () => {
    one.sms.script = one.sms.hang;
    for (let i = 0; i < 8; i++) {
      const part = Array.from({ length: 1_000 }, (_, k) =>
        rig.sms(`m${String(i * 1_000 + k).padStart(5, '0')}`),
      );
      await one.delivery.acceptMany(rig.workspaceId, part);
    }
    one.sms.script = (message) => ({ kind: 'accepted', providerId: message.id });
    one.sms.release();
    await until('all are given out', () => one.sms.taken.length === 8_000, 30_000);
    expect(new Set(one.sms.uids()).size).toBe(8_000);
    const after = one.sms.uids().slice(2_000);
    const displaced = after.filter((uid, i) => i > 0 && uid < (after[i - 1] as string)).length;
    expect(displaced).toBeLessThan(20);
  });

  test('a refusal is the end, with the code and words of the provider', async () => {
    one.sms.script = () => ({ kind: 'rejected', code: 'blocked\u0000', message: 'no \ud800 way' });
    await accept(rig.sms('m1'));
    await untilState('m1', 'rejected');
    const tracked = await one.delivery.track(rig.workspaceId, 'm1');
    expect(tracked.events.at(-1)).toMatchObject({
      type: 'rejected',
      code: 'blocked\ufffd',
      data: { message: 'no \ufffd way' },
    });
  });

  test('an event has the time of the answer, however late it is recorded', async () => {
    const answers = new Map<string, () => void>();
    one.sms.script = ({ id, uid }) =>
      new Promise((resolve) => answers.set(uid, () => resolve({ kind: 'accepted', providerId: id })));
    for (const uid of ['m1', 'm2']) {
      await accept(rig.sms(uid));
      await until(`the provider has ${uid}`, () => answers.has(uid));
    }
    const recordableFrom = await rig.db.transaction().execute(async (tx) => {
      // The first result's statement waits for the workspace's event head, and the second result for that statement.
      await sql`select 1 from event_heads where workspace_id = ${rig.workspaceId} for update`.execute(tx);
      answers.get('m1')?.();
      await delay(3 * LIMITS.recordLingerMs);
      answers.get('m2')?.();
      await delay(LIMITS.recordLingerMs);
      return Date.now();
    });
    await untilState('m2', 'sent');
    const { events } = await one.delivery.track(rig.workspaceId, 'm2');
    const told = await allEvents(one.delivery, rig.workspaceId);
    const at = told.find(({ uid, type }) => uid === 'm2' && type === 'sent')?.at;
    expect(events.at(-1)).toMatchObject({ type: 'sent', at });
    expect(Date.parse(at ?? '')).toBeLessThan(recordableFrom);
  });

  test('a passing failure is tried again and counted; being throttled is not', async () => {
    const script = ['transient', 'throttled', 'transient'];
    one.sms.script = (message) => {
      const kind = script.shift();
      if (kind === 'transient') return { kind, code: 'busy', retryAfterMs: 20 };
      if (kind === 'throttled') return { kind, retryAfterMs: 20 };
      return { kind: 'accepted', providerId: message.id };
    };
    await accept(rig.sms('m1'));
    await untilState('m1', 'sent');
    expect(one.sms.taken.map((message) => message.attempt)).toEqual([1, 2, 2, 3]);
    const tracked = await one.delivery.track(rig.workspaceId, 'm1');
    expect(tracked).toMatchObject({ attempt: 3 });
    expect(tracked.code).toBeUndefined();
    expect(tracked.events.map((event) => event.type)).toEqual(['accepted', 'sent']);
  });

  test('no retry is overlooked, however soon it is due', async () => {
    const seen = new Set<string>();
    one.sms.script = (message) => {
      // One of each round is due again before its batch has been put away.
      const again = message.uid.endsWith('-0') && !seen.has(message.uid);
      seen.add(message.uid);
      return again ? { kind: 'throttled', retryAfterMs: 0 } : { kind: 'accepted', providerId: message.id };
    };
    for (let round = 0; round < 25; round++) {
      const texts = accept(...Array.from({ length: 5 }, (_, i) => rig.sms(`m${round}-${i}`)));
      // Accepting others meanwhile makes the dispatcher look around all the time.
      const others = Array.from({ length: 25 }, (_, i) =>
        delay(i).then(() => accept(rig.email(`e${round}-${i}`))),
      );
      await Promise.all([texts, ...others]);
      await untilState(`m${round}-0`, 'sent');
    }
  });

  test('a message whose failures never pass fails after its attempts', async () => {
    one.sms.script = () => ({ kind: 'transient', code: 'busy', retryAfterMs: 1 });
    await accept(rig.sms('m1'));
    await untilState('m1', 'failed');
    const tracked = await one.delivery.track(rig.workspaceId, 'm1');
    expect(tracked).toMatchObject({ code: 'attempts_exhausted', attempt: 8 });
  });

  test('a lost answer is unknown, and nothing is sent again', async () => {
    one.sms.script = () => ({ kind: 'unknown' });
    one.email.script = () => {
      throw new Error('connection lost');
    };
    await accept(rig.sms('m1'), rig.email('m2'));
    await untilState('m1', 'unknown');
    await untilState('m2', 'unknown');
    expect(one.sms.taken).toHaveLength(1);
    expect(one.email.taken).toHaveLength(1);
  });

  test('a refused account keeps messages accepted and leaves the other channels alone', async () => {
    one.sms.script = () => ({ kind: 'account', code: 'bad_password', message: 'no' });
    await accept(rig.sms('a1'), rig.sms('a2'), rig.sms('a3'));
    await until('the provider was tried', () => one.sms.taken.length > 0);
    await accept(rig.sms('a4'), rig.email('e1'));
    await untilState('e1', 'sent');
    await until('the answer is recorded', async () => {
      return (await one.delivery.track(rig.workspaceId, 'a1')).code === 'provider_account';
    });
    expect(one.sms.uids()).not.toContain('a4');
    expect((await rig.states()).a1).toBe('accepted');
  });

  test('recipients who are refused one by one beside others that are taken hold up no other', async () => {
    const sms = new ScriptedProvider('sms', { answersEach: true, parallel: 50, batchMax: 50 });
    sms.script = ({ id, uid }) =>
      uid.endsWith('3')
        ? { kind: 'account', code: 'http_404', message: 'no', orRecipient: true }
        : { kind: 'accepted', providerId: id };
    const apart = await createOutboxRig(storage);
    const own = await apart.process({ sms });
    const messages = Array.from({ length: 500 }, (_, i) => apart.sms(`m${i}`));
    await own.delivery.acceptMany(apart.workspaceId, messages);
    const sent = async () => Object.values(await apart.states()).filter((state) => state === 'sent').length;
    // A pause for each would take 250 s.
    await until('the others are sent', async () => (await sent()) === 450, 10_000);
    expect((await apart.states()).m3).toBe('accepted');
    await apart.stop();
  });

  test('a slow batch does not stop others', async () => {
    one.sms.script = (message) =>
      message.uid === 'slow' ? one.sms.hang() : { kind: 'accepted', providerId: message.id };
    await accept(rig.sms('slow'));
    await until('it is on its way', () => one.sms.taken.length === 1);
    await accept(rig.sms('quick'));
    await untilState('quick', 'sent');
    const tracked = await one.delivery.track(rig.workspaceId, 'slow');
    expect(tracked.state).toBe('sending');
    const { messages } = await one.delivery.list(rig.workspaceId, { state: 'sending', limit: 10 });
    expect(messages.map((message) => message.uid)).toEqual(['slow']);
  });

  test('a scheduled message waits for its time', async () => {
    const sendAt = inMs(1_500);
    const [answer] = await accept(rig.sms('m1', { sendAt }), rig.sms('m2', { sendAt: inMs(-400) }));
    expect(answer).toMatchObject({ state: 'scheduled' });
    await untilState('m2', 'sent');
    expect(one.sms.uids()).toEqual(['m2']);
    await untilState('m1', 'sent');
    const { events } = await one.delivery.track(rig.workspaceId, 'm1');
    expect(events.map((event) => event.type)).toEqual(['scheduled', 'sent']);
    expect((events[1]?.at ?? '') >= sendAt).toBe(true);
  });

  test('a message past its time is expired instead of sent', async () => {
    await accept(rig.sms('m1', { expiresAt: inMs(-1) }), rig.sms('m2', { expiresAt: inMs(60_000) }));
    await untilState('m1', 'expired');
    await untilState('m2', 'sent');
    expect(one.sms.uids()).toEqual(['m2']);
  });

  test('a retry that would come too late is not made: the message expires in time', async () => {
    one.sms.script = (message) =>
      message.uid === 'm1'
        ? { kind: 'transient', code: 'busy', retryAfterMs: 600_000 }
        : { kind: 'throttled', retryAfterMs: 600_000 };
    await accept(rig.sms('m1', { expiresAt: inMs(700) }));
    await accept(rig.sms('m2', { from: '54321', expiresAt: inMs(700) }));
    await untilState('m1', 'expired');
    await untilState('m2', 'expired');
    expect(one.sms.uids().sort()).toEqual(['m1', 'm2']);
  });

  test('one sender that is sent away waits alone; when several are, the channel waits', async () => {
    let refusing = ['111', '222'];
    one.sms.script = (message) =>
      refusing.includes(message.from)
        ? { kind: 'throttled', retryAfterMs: 500 }
        : { kind: 'accepted', providerId: message.id };
    await one.delivery.acceptMany(rig.workspaceId, [
      rig.sms('a1', { from: '111' }),
      rig.sms('a2', { from: '222' }),
      rig.sms('a3', { from: '333' }),
    ]);
    await untilState('a3', 'sent');
    const refusedAt = Date.now();
    refusing = [];
    await accept(rig.sms('b3', { from: '333' }));
    await untilState('b3', 'sent');
    expect(Date.now() - refusedAt).toBeGreaterThan(300);
    await untilState('a1', 'sent');
    await untilState('a2', 'sent');
  });

  test('held messages stay accepted, others go, and release lets them go on in order', async () => {
    await one.delivery.hold(rig.workspaceId, 'c1');
    const held = Array.from({ length: 30 }, (_, i) => rig.sms(`h${10 + i}`, { campaign: 'c1' }));
    for (const message of held) await one.delivery.accept(rig.workspaceId, message);
    await accept(rig.sms('free', { campaign: 'c2' }));
    await untilState('free', 'sent');
    expect(one.sms.uids()).toEqual(['free']);
    expect((await one.delivery.track(rig.workspaceId, 'h10')).state).toBe('accepted');
    await one.delivery.release(rig.workspaceId, 'c1');
    await untilState('h39', 'sent');
    expect(one.sms.uids().slice(1)).toEqual(held.map((message) => message.uid));
  });

  test('what has waited for long is found at once, though only what fell due since was read meanwhile', async () => {
    await one.delivery.hold(rig.workspaceId, 'c1');
    await accept(rig.sms('h1', { campaign: 'c1' }), rig.sms('h2', { campaign: 'c1' }));
    let failures = 4;
    one.sms.script = (message) =>
      message.uid === 'again' && failures-- > 0
        ? { kind: 'transient', code: 'busy', retryAfterMs: 150 }
        : { kind: 'accepted', providerId: message.id };
    await accept(rig.sms('again'));
    await untilState('again', 'sent');
    await delay(2 * LIMITS.dueReadMs);
    expect(one.sms.uids()).toEqual(Array(5).fill('again'));
    const releasedAt = Date.now();
    await one.delivery.release(rig.workspaceId, 'c1');
    await untilState('h1', 'sent');
    await untilState('h2', 'sent');
    expect(Date.now() - releasedAt).toBeLessThan(LIMITS.dueFullReadMs / 2);
  });

  test('a hold that another process writes is heeded by the next batch, and its release noticed', async () => {
    const two = await rig.process();
    await two.delivery.hold(rig.workspaceId, 'c1');
    await accept(rig.sms('m1', { campaign: 'c1' }), rig.sms('m2'));
    await untilState('m2', 'sent');
    expect((await rig.states()).m1).toBe('accepted');
    await two.delivery.release(rig.workspaceId, 'c1');
    await untilState('m1', 'sent');
    expect([...one.sms.uids(), ...two.sms.uids()].sort()).toEqual(['m1', 'm2']);
  });

  test('a hold stops what waits for its turn with the provider, which goes on in order at no cost', async () => {
    let open: () => void = () => undefined;
    const turn = new Promise<void>((done) => {
      open = done;
    });
    const left: string[] = [];
    one.sms.script = async (message, mayLeave) => {
      await turn;
      if (!mayLeave(message)) return { kind: 'stayed' };
      left.push(message.uid);
      return { kind: 'accepted', providerId: message.id };
    };
    const held = ['h1', 'h2', 'h3'].map((uid) => rig.sms(uid, { campaign: 'c1' }));
    await one.delivery.acceptMany(rig.workspaceId, [...held, rig.sms('free', { campaign: 'c2' })]);
    await until('they are with the provider', () => one.sms.taken.length === 4);
    await one.delivery.hold(rig.workspaceId, 'c1');
    await accept(rig.sms('h4', { campaign: 'c1' }));
    open();
    await untilState('free', 'sent');
    await until('they wait again', async () => {
      const { rows } = await sql<{
        uid: string;
      }>`select uid from messages m where workspace_id = ${rig.workspaceId}
        and not exists (select 1 from handover_batches where m.id = any(message_ids))
        and due_at is not null`.execute(rig.db);
      return rows.length === 4;
    });
    expect(left).toEqual(['free']);
    const tracked = await one.delivery.track(rig.workspaceId, 'h1');
    expect(tracked).toMatchObject({ state: 'accepted', attempt: 0 });
    expect(tracked.code).toBeUndefined();
    await one.delivery.release(rig.workspaceId, 'c1');
    await untilState('h4', 'sent');
    expect(left).toEqual(['free', 'h1', 'h2', 'h3', 'h4']);
  });

  test('a batch under way learns of a hold that another process writes', async () => {
    const stayed: string[] = [];
    one.sms.script = async (message, mayLeave) => {
      await until('it may not leave any more', () => !mayLeave(message));
      stayed.push(message.uid);
      return { kind: 'stayed' };
    };
    await accept(rig.sms('m1', { campaign: 'c1' }));
    await until('it is with the provider', () => one.sms.taken.length === 1);
    const two = await rig.process();
    await two.delivery.hold(rig.workspaceId, 'c1');
    await until('it stayed', () => stayed.length === 1);
    one.sms.script = (message) => ({ kind: 'accepted', providerId: message.id });
    await two.delivery.release(rig.workspaceId, 'c1');
    await untilState('m1', 'sent');
  });

  test('a message whose time is over while it waits for its turn expires', async () => {
    one.sms.script = async (message, mayLeave) => {
      await until('its time is over', () => !mayLeave(message));
      return { kind: 'stayed' };
    };
    await accept(rig.sms('m1', { expiresAt: inMs(1_000) }));
    await untilState('m1', 'expired');
  });

  test('a provider that takes a second for every answer is kept as busy as it can be', async () => {
    one.email.script = async (message) => {
      await delay(1_000);
      return { kind: 'accepted', providerId: message.id };
    };
    const messages = Array.from({ length: 1_000 }, (_, i) => rig.email(`m${i}`));
    await one.delivery.acceptMany(rig.workspaceId, messages);
    await one.delivery.acceptMany(
      rig.workspaceId,
      messages.map((_, i) => rig.email(`n${i}`)),
    );
    await until('all are given out', () => one.email.taken.length === 2_000, 20_000);
  });

  test('while the database fails, nothing is lost and nothing sent twice', async () => {
    const rename = (from: string, to: string) =>
      sql.raw(`alter table ${from} rename to ${to}`).execute(rig.db);
    one.sms.script = one.sms.hang;
    await accept(rig.sms('recorded-late'));
    await until('it is on its way', () => one.sms.taken.length === 1);
    await rename('event_heads', 'event_heads_away');
    one.sms.release({ kind: 'accepted', providerId: 'p1' });
    await expect(accept(rig.sms('refused'))).rejects.toMatchObject({ code: 'dependency_down' });
    await rename('event_heads_away', 'event_heads');
    await untilState('recorded-late', 'sent');

    one.sms.script = (message) => ({ kind: 'accepted', providerId: message.id });
    await rename('handover_batches', 'batches_away');
    await accept(rig.sms('opened-late'));
    await rename('batches_away', 'handover_batches');
    await untilState('opened-late', 'sent');
    expect(one.sms.uids()).toEqual(['recorded-late', 'opened-late']);
  });

  test('workspaces take turns', async () => {
    const other = await createOutboxRig(storage);
    await one.delivery.accept(other.workspaceId, other.sms('before'));
    await until('it is out', () => one.sms.taken.length === 1);
    one.sms.script = one.sms.hang;
    for (const part of ['a', 'b', 'c']) {
      const messages = Array.from({ length: 1_000 }, (_, i) => rig.sms(`${part}${i}`));
      await one.delivery.acceptMany(rig.workspaceId, messages);
    }
    await one.delivery.accept(other.workspaceId, other.sms('single'));
    one.sms.script = (message) => ({ kind: 'accepted', providerId: message.id });
    one.sms.release();
    await until('all are out', () => one.sms.taken.length === 3_002);
    expect(one.sms.uids().indexOf('single')).toBeLessThan(2_500);
  });
});
