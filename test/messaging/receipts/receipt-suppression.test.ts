/** Proves which receipts suppress an address. */

import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { LIMITS } from '../../../src/domain/limits';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { createSuppressionList } from '../../../src/messaging/suppression/suppression';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';
import { ScriptedProvider } from '../scripted-provider';

describeWithDatabase('what carriers say about recipients', (database) => {
  let storage: Storage;
  let db: Kysely<MessagingTables>;
  let rig: OutboxRig;
  let one: TestProcess;
  beforeAll(async () => {
    storage = await database.open();
    db = storage.tables<MessagingTables>();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    one = await rig.process();
  });
  afterEach(() => rig.stop());

  async function sendMail(uid: string, to = 'Ada@Example.com'): Promise<string> {
    const { id } = await one.delivery.accept(rig.workspaceId, rig.email(uid, { to }));
    await until(`${uid} is sent`, async () => (await rig.states())[uid] === 'sent');
    return id;
  }
  const blocks = () =>
    db
      .selectFrom('suppressions')
      .select(['address', 'channel', 'sender', 'source', 'reason'])
      .where('workspace_id', '=', rig.workspaceId)
      .orderBy('address')
      .execute();

  test('a hard bounce suppresses the address for email at once, for every sender', async () => {
    await one.email.report({ id: await sendMail('m1'), type: 'undelivered', code: '550 5.1.1' });
    expect(await blocks()).toEqual([
      {
        address: 'ada@example.com',
        channel: 'email',
        sender: '',
        source: 'bounce',
        reason: 'no such mailbox',
      },
    ]);
    const next = rig.email('m2', { to: 'ada@example.com', from: 'other@example.com' });
    expect((await one.delivery.accept(rig.workspaceId, next)).state).toBe('suppressed');
  });

  test('a bounce is believed from the path that the accounts of a kind share', async () => {
    const account = new ScriptedProvider('email', {}, 'http:acc_1');
    const two = await rig.process({ email: account });
    const { id } = await two.delivery.accept(rig.workspaceId, rig.email('m1'));
    await until('it is sent', async () => (await rig.states()).m1 === 'sent');
    await two.delivery.receiptsOf('http')([{ id, type: 'undelivered', code: '550 5.1.1' }]);
    expect(await rig.states()).toEqual({ m1: 'undelivered' });
    expect(await blocks()).toMatchObject([{ address: 'ada@example.com', source: 'bounce' }]);
  });

  test('a complaint blocks at once, also one about a message that was delivered', async () => {
    const id = await sendMail('m1');
    await one.email.report({ id, type: 'delivered' });
    await one.email.report({ id, type: 'delivered', code: 'complaint' });
    expect(await blocks()).toMatchObject([{ source: 'complaint' }]);
    expect(await rig.states()).toEqual({ m1: 'delivered' });
  });

  test.each([
    ['complaint', 'unsubscribed'],
    ['unsubscribed', 'complaint'],
  ])('a complaint blocks every sender, also in one report with an opt-out: %s, then %s', async (...codes) => {
    const id = await sendMail('m1');
    await one.email.report(...codes.map((code) => ({ id, type: 'delivered' as const, code })));
    const found = await blocks();
    expect(found.filter(({ sender }) => sender === '')).toMatchObject([{ source: 'complaint' }]);
    expect(found.filter(({ sender }) => sender !== '')).toMatchObject([{ source: 'provider' }]);
  });

  test.each([
    ['delivered', 'bounced'],
    ['bounced', 'delivered'],
  ])('a hard bounce wins over a delivery: %s, then %s', async (...order) => {
    const id = await sendMail('m1');
    for (const what of order) {
      await one.email.report(
        what === 'bounced' ? { id, type: 'undelivered', code: '5.1.1' } : { id, type: 'delivered' },
      );
    }
    expect(await rig.states()).toEqual({ m1: 'undelivered' });
    expect(await blocks()).toMatchObject([{ source: 'bounce' }]);
    await one.email.report({ id, type: 'delivered' });
    expect(await rig.states()).toEqual({ m1: 'undelivered' });
  });

  test('another bounce does not win over a delivery', async () => {
    const id = await sendMail('m1');
    await one.email.report({ id, type: 'delivered' });
    await one.email.report({ id, type: 'undelivered', code: '5.7.1' });
    expect(await rig.states()).toEqual({ m1: 'delivered' });
  });

  test('codes about the sender, the content or the time suppress no address', async () => {
    for (const [i, code] of ['5.7.1', '5.7.26', '550 5.7.515', '5.3.4', '4.4.1', '550'].entries()) {
      await one.email.report({ id: await sendMail(`m${i}`), type: 'undelivered', code });
    }
    expect(await blocks()).toEqual([]);
  });

  test('a full mailbox blocks on its fifth day of thirty, however often it is full on one day', async () => {
    for (let day = 0; day < LIMITS.softBounceDays; day++) {
      expect(await blocks()).toEqual([]);
      await sql`update soft_bounces set day = day - 1 where workspace_id = ${rig.workspaceId}`.execute(db);
      for (let i = 0; i < 3; i++) {
        await one.email.report({ id: await sendMail(`m${day}-${i}`), type: 'undelivered', code: '5.2.2' });
        if (day === LIMITS.softBounceDays - 1) break;
      }
    }
    expect(await blocks()).toMatchObject([{ source: 'bounce', reason: 'took nothing for days' }]);
  });

  const daysPass = (days: number) =>
    sql`update soft_bounces set day = day - ${days}::int where workspace_id = ${rig.workspaceId}`.execute(db);
  const bounces = async () =>
    (
      await db
        .selectFrom('soft_bounces')
        .select('message_id')
        .where('workspace_id', '=', rig.workspaceId)
        .execute()
    ).map((row) => row.message_id);
  const isFull = { kind: 'transient' as const, code: '4.2.2', retryAfterMs: 0 };
  async function sendInVain(uid: string, state = 'failed'): Promise<string> {
    const { id } = await one.delivery.accept(rig.workspaceId, rig.email(uid));
    await until(`${uid} is ${state}`, async () => (await rig.states())[uid] === state);
    return id;
  }

  test('a mailbox that is full at every attempt counts as one that bounces by mail, once a message', async () => {
    one.email.script = () => isFull;
    for (let day = 0; day < LIMITS.softBounceDays; day++) {
      expect(await blocks()).toEqual([]);
      await daysPass(1);
      await sendInVain(`m${day}`);
    }
    expect(one.email.taken).toHaveLength(LIMITS.softBounceDays * LIMITS.handoverAttempts);
    expect(await bounces()).toHaveLength(LIMITS.softBounceDays);
    expect(await blocks()).toMatchObject([{ source: 'bounce', reason: 'took nothing for days' }]);
    expect((await one.delivery.accept(rig.workspaceId, rig.email('next'))).state).toBe('suppressed');
  });

  test('a message that bounced counts once, however it is reported and however often', async () => {
    one.email.script = () => isFull;
    const id = await sendInVain('m1');
    for (let day = 0; day < LIMITS.softBounceDays; day++) {
      await daysPass(1);
      await one.email.report({ id, type: 'undelivered', code: '5.2.2' });
    }
    expect(await bounces()).toEqual([id]);
    expect(await blocks()).toEqual([]);
  });

  test('a mailbox that was full until the time of its message was over counts', async () => {
    one.email.script = () => ({ ...isFull, retryAfterMs: 60_000 });
    const expiresAt = new Date(Date.now() + 1_500).toISOString();
    const { id } = await one.delivery.accept(rig.workspaceId, rig.email('m1', { expiresAt }));
    await until('it has expired', async () => (await rig.states()).m1 === 'expired');
    expect(await bounces()).toEqual([id]);
  });

  test('what was full for a while only, or failed for another reason in the end, does not count', async () => {
    one.email.script = ({ uid, attempt }) => {
      if (attempt < (uid === 'taken' ? 3 : LIMITS.handoverAttempts)) return isFull;
      if (uid === 'taken') return { kind: 'accepted', providerId: uid };
      return { kind: 'transient', code: 'ECONNREFUSED', retryAfterMs: 0 };
    };
    await sendInVain('taken', 'sent');
    await sendInVain('away');
    expect(await bounces()).toEqual([]);
  });

  test('a bounce is noted together with the end of its message, or not at all', async () => {
    one.email.script = () => isFull;
    await sql`
      create function refuse_the_end() returns trigger language plpgsql as
      'begin perform nextval(''refusals''); raise exception ''not now''; end'
    `.execute(db);
    await sql`create sequence refusals`.execute(db);
    await sql`
      create trigger no_end before update on messages for each row when (new.state = 'failed')
      execute function refuse_the_end()
    `.execute(db);
    const refusals = async () =>
      (await sql<{ called: boolean }>`select is_called as called from refusals`.execute(db)).rows[0]?.called;
    try {
      await one.delivery.accept(rig.workspaceId, rig.email('m1'));
      await until('the end was refused', async () => (await refusals()) === true);
      expect(await bounces()).toEqual([]);
    } finally {
      await sql`drop function refuse_the_end cascade`.execute(db);
      await sql`drop sequence refusals`.execute(db);
    }
    await until('it has failed', async () => (await rig.states()).m1 === 'failed');
    expect(await bounces()).toHaveLength(1);
  });

  test('days that are too long ago do not count', async () => {
    for (let day = 0; day < LIMITS.softBounceDays; day++) {
      await sql`update soft_bounces set day = day - 10 where workspace_id = ${rig.workspaceId}`.execute(db);
      await one.email.report({ id: await sendMail(`m${day}`), type: 'undelivered', code: '4.2.2' });
    }
    expect(await blocks()).toEqual([]);
  });

  test('a refusal at the hand-over says the same as a receipt', async () => {
    one.email.script = ({ to }) => ({
      kind: 'rejected',
      code: to.startsWith('no') ? '5.1.1' : '5.7.1',
      message: '',
    });
    await one.delivery.accept(rig.workspaceId, rig.email('m1', { to: 'nobody@example.com' }));
    await one.delivery.accept(rig.workspaceId, rig.email('m2', { to: 'somebody@example.com' }));
    await until('both are refused', async () =>
      Object.values(await rig.states()).every((state) => state === 'rejected'),
    );
    expect(await blocks()).toMatchObject([{ address: 'nobody@example.com', source: 'bounce' }]);
  });

  test('an opt-out that the carrier has is mirrored for its sender', async () => {
    one.sms.script = () => ({
      kind: 'rejected',
      code: '21610',
      message: 'Attempt to send to unsubscribed recipient',
    });
    await one.delivery.accept(rig.workspaceId, rig.sms('m1'));
    await until('it is refused', async () => (await rig.states()).m1 === 'rejected');
    expect(await blocks()).toEqual([
      {
        address: '+12025550123',
        channel: 'sms',
        sender: '12345',
        source: 'provider',
        reason: 'opted out at the carrier',
      },
    ]);
    expect((await one.delivery.accept(rig.workspaceId, rig.sms('m2', { from: 'SHOP' }))).state).toBe(
      'accepted',
    );
  });

  test('a receipt that comes before its hand-over is recorded blocks as well', async () => {
    one.email.script = async (message) => {
      await one.email.report({ id: message.id, type: 'undelivered', code: '5.1.1' });
      return { kind: 'accepted', providerId: message.id };
    };
    await one.delivery.accept(rig.workspaceId, rig.email('m1'));
    await until('it bounced', async () => (await rig.states()).m1 === 'undelivered');
    expect(await blocks()).toMatchObject([{ source: 'bounce' }]);
  });

  test('a bounce takes the place of no reason that a person gave', async () => {
    const list = createSuppressionList({ db });
    const block = {
      channel: 'email' as const,
      address: 'ada@example.com',
      reason: 'by letter',
      sender: undefined,
    };
    const id = await sendMail('m1');
    await list.add(rig.workspaceId, block, 'api');
    await one.email.report({ id, type: 'undelivered', code: '5.1.1' });
    expect(await blocks()).toMatchObject([{ source: 'api', reason: 'by letter' }]);
  });
});
