/** Proves what inbound SMS change, and that each gets one reply. */

import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { providerName } from '../../../src/domain/account';
import { createLog } from '../../../src/log';
import { createInboundMessages } from '../../../src/messaging/inbound/inbound-sms';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { createSuppressionList } from '../../../src/messaging/suppression/suppression';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createAccountsRig } from '../carriers/accounts-rig';
import { allEvents, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';

const SENDER = '12345';
let people = 0;

describeWithDatabase('what subscribers write back', (database) => {
  let storage: Storage;
  let db: Kysely<MessagingTables>;
  let rig: OutboxRig;
  let one: TestProcess;
  let person: string;
  let ids = 0;
  beforeAll(async () => {
    storage = await database.open();
    db = storage.tables<MessagingTables>();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    one = await rig.process();
    people += 1;
    person = `+1202556${String(1_000 + people)}`;
  });
  afterEach(() => rig.stop());

  const write = (text: string, more: Record<string, string> = {}) =>
    one.delivery.inboundOf('scripted')([
      { id: `in-${people}-${++ids}`, from: person, to: SENDER, text, ...more },
    ]);
  async function sendFirst(uid = 'first', more: Record<string, unknown> = {}, of = rig) {
    await one.delivery.accept(of.workspaceId, of.sms(uid, { to: person, ...more }));
    await until(`${uid} is sent`, async () => (await of.states())[uid] === 'sent');
  }
  const openTo = async (...of: string[]) => {
    await db
      .insertInto('workspaces')
      .values(of.map((id) => ({ id, name: id })))
      .onConflict((known) => known.doNothing())
      .execute();
    return createAccountsRig(storage).make({ workspaces: of });
  };
  const replies = () => one.sms.taken.filter((message) => message.uid.startsWith('reply.'));
  const blocks = (workspaceId = rig.workspaceId) =>
    db
      .selectFrom('suppressions')
      .select(['address', 'channel', 'sender', 'source', 'reason'])
      .where('workspace_id', '=', workspaceId)
      .orderBy('sender')
      .execute();
  const inboundEvents = async (of = rig) =>
    (await allEvents(one.delivery, of.workspaceId)).filter(({ type }) => type === 'inbound');

  test('a sender with a name is known again, however a carrier spells it', async () => {
    await sendFirst('first', { from: 'Acme Co' });
    await write('STOP', { to: 'ACME CO' });
    expect(await blocks()).toMatchObject([{ address: person, sender: 'acme co' }]);
  });

  test('STOP blocks the sender for the person, is confirmed once, and is an event without the text', async () => {
    await sendFirst('first', { campaign: 'spring' });
    await write('Stop.');
    expect(await blocks()).toEqual([
      { address: person, channel: 'sms', sender: SENDER, source: 'keyword', reason: 'SMS: STOP' },
    ]);
    await until('it is confirmed', () => replies().length === 1);
    expect(replies()[0]).toMatchObject({ to: person, from: SENDER, text: expect.stringContaining('START') });
    const [event, ...more] = await inboundEvents();
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      uid: 'first',
      campaign: 'spring',
      state: 'sent',
      data: { keyword: 'STOP', match: 'exact' },
    });
    expect((await one.delivery.track(rig.workspaceId, 'first')).events.at(-1)).toMatchObject({
      type: 'inbound',
    });
    const later = rig.sms('later', { to: person, class: 'transactional' });
    expect((await one.delivery.accept(rig.workspaceId, later)).state).toBe('suppressed');
    const other = rig.sms('other', { to: person, from: 'SHOP' });
    expect((await one.delivery.accept(rig.workspaceId, other)).state).toBe('accepted');
  });

  test('a text that means STOP without being it blocks too, and says that it was a guess', async () => {
    await sendFirst();
    await write('please stop writing me');
    expect((await blocks())[0]).toMatchObject({ source: 'keyword', reason: 'SMS: PLEASE STOP (fuzzy)' });
    expect((await inboundEvents())[0]?.data).toEqual({ keyword: 'PLEASE STOP', match: 'fuzzy' });
  });

  test('a repeated inbound SMS changes nothing and gets no second reply', async () => {
    await sendFirst();
    const sms = { id: 'same', from: person, to: SENDER, text: 'STOP' };
    const sink = one.delivery.inboundOf('scripted');
    await Promise.all([sink([sms]), sink([sms]), sink([sms, sms])]);
    await until('it is confirmed', () => replies().length === 1);
    await createSuppressionList({ db }).remove(rig.workspaceId, {
      channel: 'sms',
      address: person,
      anySender: true,
    });
    await sink([sms]);
    expect(await blocks()).toEqual([]);
    expect(await inboundEvents()).toHaveLength(1);
    expect(await rig.states()).toEqual({ first: 'sent', [replies()[0]?.uid ?? '']: expect.any(String) });
  });

  test('an id that a carrier uses again for another text is another message', async () => {
    await sendFirst();
    const sink = one.delivery.inboundOf('scripted');
    await sink([{ id: 'again', from: person, to: SENDER, text: 'nice' }]);
    await sink([{ id: 'again', from: person, to: SENDER, text: 'STOP' }]);
    expect(await blocks()).toHaveLength(1);
  });

  test('a second STOP is not confirmed again, and one after START is', async () => {
    await sendFirst();
    for (const text of ['STOP', 'QUIT', 'stop']) await write(text);
    await until('one confirmation', () => replies().length === 1);
    await write('START');
    expect(await blocks()).toEqual([]);
    await until('START is confirmed', () => replies().length === 2);
    await write('START');
    await write('STOP');
    await until('the new block is confirmed', () => replies().length === 3);
    expect(await inboundEvents()).toHaveLength(6);
    expect(Object.keys(await rig.states())).toHaveLength(4);
  });

  test('START lifts what keywords made and nothing else', async () => {
    await sendFirst();
    const list = createSuppressionList({ db });
    const block = { channel: 'sms' as const, address: person, reason: 'asked', sender: SENDER };
    await list.add(rig.workspaceId, block, 'api');
    await write('STOP');
    await write('START');
    expect(await blocks()).toMatchObject([{ source: 'api' }]);
    expect(replies()).toEqual([]);
    await list.remove(rig.workspaceId, { channel: 'sms', address: person, anySender: true });
    await write('STOP');
    await write('START');
    const lifted = await db
      .selectFrom('lifted_suppressions')
      .select(['source', 'lifted_by'])
      .where('address', '=', person)
      .orderBy('id')
      .execute();
    expect(lifted).toEqual([
      { source: 'api', lifted_by: 'api' },
      { source: 'keyword', lifted_by: 'keyword' },
    ]);
  });

  test('START lifts a STOP that the carrier knows too, and has refused the confirmation of', async () => {
    await sendFirst();
    one.sms.script = (message) =>
      message.uid.startsWith('reply.')
        ? { kind: 'rejected', code: '21610', message: 'Attempt to send to unsubscribed recipient' }
        : { kind: 'accepted', providerId: message.id };
    await write('STOP');
    await until('the confirmation to be refused', async () =>
      Object.entries(await rig.states()).some(([uid, state]) => uid !== 'first' && state === 'rejected'),
    );
    expect(await blocks()).toMatchObject([{ sender: SENDER, source: 'keyword' }]);
    await write('START');
    expect(await blocks()).toEqual([]);
    await sendFirst('again');
  });

  test('START lifts a STOP that found the carrier’s own block in its place', async () => {
    await sendFirst();
    const list = createSuppressionList({ db });
    const block = { channel: 'sms' as const, address: person, reason: 'opted out at the carrier' };
    await list.add(rig.workspaceId, { ...block, sender: SENDER }, 'provider');
    await list.add(rig.workspaceId, { ...block, sender: 'SHOP' }, 'provider');
    await write('STOP');
    expect(await blocks()).toMatchObject([
      { sender: SENDER, source: 'keyword', reason: 'SMS: STOP' },
      { sender: 'shop', source: 'provider' },
    ]);
    await write('START');
    expect(await blocks()).toMatchObject([{ sender: 'shop', source: 'provider' }]);
    await sendFirst('again');
  });

  test('a reply to an account reaches the workspaces that may use it, and no other', async () => {
    const second = await createOutboxRig(storage);
    const own = await openTo(rig.workspaceId);
    const shared = await openTo(rig.workspaceId, second.workspaceId);
    await sendFirst();
    await sendFirst('second', {}, second);
    const sms = { id: `own-${people}`, from: person, to: SENDER, text: 'STOP' };
    await one.delivery.inboundOf(providerName(own))([sms]);
    expect(await blocks()).toHaveLength(1);
    expect(await blocks(second.workspaceId)).toEqual([]);
    expect(await inboundEvents(second)).toEqual([]);
    await until('it is answered', () => replies().length === 1);
    expect(Object.keys(await rig.states())).toContain(replies()[0]?.uid);
    await one.delivery.inboundOf(providerName(shared))([{ ...sms, id: `shared-${people}` }]);
    expect(await blocks(second.workspaceId)).toHaveLength(1);
    expect(await inboundEvents(second)).toHaveLength(1);
    await second.stop();
  });

  test('a STOP counts for the workspace whose message the account carried, also when it may not use it any more', async () => {
    const second = await createOutboxRig(storage);
    const account = await openTo(second.workspaceId);
    await sendFirst();
    await db
      .updateTable('messages')
      .set({ provider: providerName(account) })
      .where('workspace_id', '=', rig.workspaceId)
      .execute();
    const sms = { id: `moved-${people}`, from: person, to: SENDER, text: 'STOP' };
    await one.delivery.inboundOf(providerName(account))([sms]);
    expect(await blocks()).toHaveLength(1);
    await second.stop();
  });

  test('a STOP to an account counts for its own workspaces when the messages are no longer kept', async () => {
    const second = await createOutboxRig(storage);
    const own = await openTo(rig.workspaceId);
    const sender = `7${people}${Date.now() % 100_000}`.slice(0, 8);
    await sendFirst('first', { from: sender });
    await sendFirst('second', { from: sender }, second);
    const all = [rig.workspaceId, second.workspaceId];
    await db.deleteFrom('messages').where('workspace_id', 'in', all).execute();
    await one.delivery.inboundOf(providerName(own))([
      { id: `gone-${people}`, from: person, to: sender, text: 'STOP' },
    ]);
    expect(await blocks()).toHaveLength(1);
    expect(await blocks(second.workspaceId)).toEqual([]);
    await second.stop();
  });

  test('the confirmation passes the block that it confirms, and no other', async () => {
    await sendFirst();
    const list = createSuppressionList({ db });
    await list.add(
      rig.workspaceId,
      { channel: 'all', address: person, reason: 'by letter', sender: undefined },
      'api',
    );
    await write('STOP');
    await until('the confirmation has ended', async () =>
      Object.entries(await rig.states()).some(([uid, state]) => uid !== 'first' && state === 'suppressed'),
    );
    expect(replies()).toEqual([]);
    expect(await blocks()).toHaveLength(2);
  });

  test('HELP is answered, also after STOP, and changes no block', async () => {
    await sendFirst();
    await write('STOP');
    await write('help');
    await until('both are answered', () => replies().length === 2);
    expect(await blocks()).toHaveLength(1);
  });

  test('anything else is an event and nothing more', async () => {
    await sendFirst();
    await write('Thank you, see you on Sunday');
    expect((await inboundEvents()).map(({ data }) => data)).toEqual([{ match: 'none' }]);
    expect([await blocks(), replies()]).toEqual([[], []]);
  });

  test('numbers count however the carrier writes them', async () => {
    await sendFirst('first', { from: '+12025550100' });
    await write('STOP', { from: person.slice(1), to: '1 (202) 555-0100' });
    expect(await blocks()).toMatchObject([{ address: person, sender: '+12025550100' }]);
  });

  test('of workspaces that share a number, each that wrote to the person is heard, and one answers', async () => {
    const second = await createOutboxRig(storage);
    const stranger = await createOutboxRig(storage);
    await sendFirst();
    await sendFirst('second', {}, second);
    await one.delivery.accept(stranger.workspaceId, stranger.sms('s', { to: '+12025550000' }));
    await write('STOP');
    expect(await blocks()).toHaveLength(1);
    expect(await blocks(second.workspaceId)).toHaveLength(1);
    expect(await blocks(stranger.workspaceId)).toEqual([]);
    expect(await inboundEvents(second)).toHaveLength(1);
    await until('it is answered', () => replies().length === 1);
    expect(Object.keys(await second.states())).toContain(replies()[0]?.uid);
    await second.stop();
    await stranger.stop();
  });

  test('a STOP counts when the messages are no longer kept, for every workspace that uses the sender', async () => {
    const sender = `8${people}${Date.now() % 100_000}`.slice(0, 8);
    await sendFirst('first', { from: sender });
    await db.deleteFrom('messages').where('workspace_id', '=', rig.workspaceId).execute();
    await write('STOP', { to: sender });
    expect(await blocks()).toMatchObject([{ address: person, sender }]);
    await until('it is confirmed', () => replies().length === 1);
    expect(await inboundEvents()).toEqual([]);
  });

  test('an SMS to a sender that no workspace uses is stored without effect', async () => {
    await write('STOP', { to: '99999999' });
    expect([await blocks(), replies()]).toEqual([[], []]);
  });

  test('an answer that was owed when the process ended is sent by the next, as the same message', async () => {
    await sendFirst();
    const killed = createInboundMessages({
      db,
      acceptOwn: () => Promise.reject(new Error('The process is gone')),
      onEvents: () => undefined,
      log: createLog('silent'),
    });
    await killed.sinkOf('scripted')([{ id: `killed-${people}`, from: person, to: SENDER, text: 'STOP' }]);
    expect(await blocks()).toHaveLength(1);
    expect(replies()).toEqual([]);
    const next = await rig.process();
    await until('it is confirmed', async () =>
      [...one.sms.taken, ...next.sms.taken].some(({ uid }) => uid.startsWith('reply.')),
    );
    await sql`update inbound_messages set replied_at = null where reply_workspace = ${rig.workspaceId}`.execute(
      db,
    );
    const third = await rig.process();
    await until('nothing is owed', async () => {
      const { rows } = await sql<{ owed: number }>`
        select count(*)::int as owed from inbound_messages where reply_id is not null and replied_at is null`.execute(
        db,
      );
      return rows[0]?.owed === 0;
    });
    const sent = [one, next, third]
      .flatMap(({ sms }) => sms.taken)
      .filter(({ uid }) => uid.startsWith('reply.'));
    expect(sent).toHaveLength(1);
  });

  test('a person is answered so many times a day, and blocked all the same', async () => {
    await sendFirst();
    for (let i = 0; i < 12; i++) await write('HELP');
    await write('STOP');
    expect(await blocks()).toHaveLength(1);
    const { rows } = await sql<{ answers: number }>`
      select count(*)::int as answers from inbound_messages where reply_to = ${person}`.execute(db);
    expect(rows[0]?.answers).toBe(10);
  });
});
