import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { LIMITS } from '../../src/domain/limits';
import { createSuppressionList } from '../../src/messaging/suppression';
import type { MessagingTables } from '../../src/messaging/tables';
import type { Storage } from '../../src/storage/storage';
import { describeEachEngine } from '../support/storage';
import { until } from '../support/until';
import { createOutboxRig, type OutboxRig, type TestProcess } from './outbox-rig';

describeEachEngine('what carriers say about recipients', (engine) => {
  let storage: Storage;
  let db: Kysely<MessagingTables>;
  let rig: OutboxRig;
  let one: TestProcess;
  beforeAll(async () => {
    storage = await engine.open();
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

  test('a hard bounce blocks the address for email at once, whoever sends', async () => {
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

  test('a complaint blocks at once, also one about a message that was delivered', async () => {
    const id = await sendMail('m1');
    await one.email.report({ id, type: 'delivered' });
    await one.email.report({ id, type: 'delivered', code: 'complaint' });
    expect(await blocks()).toMatchObject([{ source: 'complaint' }]);
    expect(await rig.states()).toEqual({ m1: 'delivered' });
  });

  test('what is wrong with the sender, the content or the hour blocks nobody', async () => {
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
