/** Proves that an erased person is in no column of any table any more, wherever the product had written of them. */

import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { contactActivity, suppression } from '../../src/app/between-halves';
import { keepErasing, suppressErased } from '../../src/app/erasures';
import { freezeAudience } from '../../src/campaigns/audience/audience';
import type { ContactKey } from '../../src/campaigns/contacts/change-contact';
import { exportContact } from '../../src/campaigns/contacts/contact-export';
import { createContactTimeline } from '../../src/campaigns/contacts/contact-timeline';
import { eraseContact } from '../../src/campaigns/contacts/erase-contact';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { readCounts } from '../../src/campaigns/runs/ledger-counts';
import { createDurableSends } from '../../src/campaigns/sends/durable-sends';
import { messageUid } from '../../src/domain/ids';
import { LIMITS } from '../../src/domain/limits';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { eraseMessages } from '../../src/messaging/outbox/erase-messages';
import { createSuppressionList } from '../../src/messaging/suppression/suppression';
import { upsertSuppressions } from '../../src/messaging/suppression/suppression-rows';
import { fanOutMessages, readEndpoints } from '../../src/messaging/webhooks/fan-out';
import type { Storage } from '../../src/storage/storage';
import { createOutboxRig, type OutboxRig } from '../messaging/outbox-rig';
import { plantRun } from '../support/audience';
import { CITY, EMAIL, NAME, PHONE, tracesIn } from '../support/erased-person';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';

/** Single messages write the address as their caller does. */
const SHOUTED = EMAIL.toUpperCase();

async function rowsOf<Row>(pages: AsyncIterable<Row[]>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const page of pages) rows.push(...page);
  return rows;
}

describeWithDatabase('a person who is erased', (database) => {
  let storage: Storage;
  let db: Kysely<CampaignTables>;
  let messaging: Kysely<MessagingTables>;
  let rig: OutboxRig;
  let contactId: string;
  const log = createLog('silent');

  beforeAll(async () => {
    storage = await database.open();
    db = storage.tables<CampaignTables>();
    messaging = storage.tables<MessagingTables>();
    rig = await createOutboxRig(storage);
  });
  afterAll(() => rig.stop());

  const other = '+12025550111';

  async function plantEverywhere() {
    const { workspaceId } = rig;
    const { delivery, sms, email } = await rig.process();
    const campaign = await plantRun(db, { contacts: 2, workspaceId });
    const { runId, listId } = campaign;
    await sql`update campaigns set own_list_id = 'lst_own' where id = ${campaign.campaignId}`.execute(db);
    contactId = `${listId}-0000001`;
    await sql`update contacts set identity = 'x:z-1', external_id = 'z-1', name = ${NAME}, email = ${EMAIL},
      phone = ${PHONE}, params = ${JSON.stringify({ CITY, N: 3 })} where id = ${contactId}`.execute(db);
    await sql`insert into contacts (id, workspace_id, identity, external_id, name, email, phone) values
      ('con_shared', ${workspaceId}, 'x:flatmate', 'flatmate', 'Mo', 'mo@example.com', ${PHONE}),
      ('con_twin', ${workspaceId}, ${`e:${EMAIL.toLowerCase()}`}, null, ${NAME}, ${EMAIL}, null)`.execute(db);
    await sql`insert into contact_list_members (list_id, contact_id, params) values
      ('lst_own', ${contactId}, ${JSON.stringify({ CITY })}), ('lst_own', 'con_twin', null)`.execute(db);
    await freezeAudience(db, {
      ...{ runId, workspaceId, channel: 'sms', contactListIds: [listId], placeholders: ['NAME', 'CITY'] },
      campaignParams: { CITY: 'none' },
    });
    await sql`insert into calls (run_id, seq, attempt, data) values (${runId}, 0, 1, ${JSON.stringify({ said: NAME })})`.execute(
      db,
    );
    await sql`insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at, state) values
      (${runId}, 'voice', 0, 0, ${contactId}, ${PHONE}, ${JSON.stringify({ NAME })}, now(), 'failed'),
      (${runId}, 'email', 0, 0, 'con_twin', ${EMAIL}, ${JSON.stringify({ NAME })}, now(), 'delivered')`.execute(
      db,
    );
    await sql`insert into skipped_contacts (run_id, channel, contact_id, reason, address, evidence) values
      (${runId}, 'sms', ${contactId}, 'suppressed', ${PHONE}, ${JSON.stringify({ reason: `${NAME} asked` })}),
      (${runId}, 'email', 'con_twin', 'duplicate_address', ${EMAIL}, null)`.execute(db);
    await sql`insert into contact_uses (workspace_id, address, uids, channels, used_at, last_at) values
      (${workspaceId}, ${EMAIL.toLowerCase()}, '{u}', '{email}', '{now}', now())`.execute(db);
    await messaging
      .insertInto('webhooks')
      .values({
        ...{
          id: 'whk_1',
          workspace_id: workspaceId,
          url: 'https://example.com',
          events: ['*'],
          after_seq: 0,
        },
        ...{ signing_secrets: '[]' },
      })
      .execute();

    const to = { to: PHONE, params: { NAME, CITY } };
    const uid = messageUid({ runId, channel: 'sms', seq: 0 }, 0);
    await delivery.accept(workspaceId, rig.sms(uid, to));
    await delivery.accept(workspaceId, rig.sms('other', { to: other, params: { NAME: 'Mo' } }));
    await delivery.accept(workspaceId, rig.email('mail', { to: EMAIL, params: { NAME, CITY } }));
    await delivery.accept(workspaceId, rig.email('shouted', { to: SHOUTED, params: { NAME, CITY } }));
    await until(
      'all four are with the provider',
      async () => Object.values(await rig.states()).every((state) => state === 'sent'),
      20_000,
    );
    const ids = await messaging.selectFrom('messages').select(['id', 'uid']).execute();
    const idOf = (wanted: string) => ids.find((one) => one.uid === wanted)?.id ?? '';
    await sms.report(
      { id: idOf(uid), type: 'delivered', data: { text: `to ${PHONE}` } },
      { id: idOf('other'), type: 'delivered', data: { text: 'hello Mo' } },
    );
    await email.report({
      id: idOf('mail'),
      type: 'undelivered',
      code: '550',
      data: { smtp: `550 <${EMAIL}> no ${NAME}` },
    });
    await until(
      'the receipts are recorded',
      async () => {
        const states = await rig.states();
        return states[uid] === 'delivered' && states.mail === 'undelivered' && states.other === 'delivered';
      },
      20_000,
    );
    for (const endpoint of await readEndpoints(messaging)) await fanOutMessages(messaging, endpoint);

    const later = new Date(Date.now() + 86_400_000).toISOString();
    await delivery.accept(workspaceId, rig.sms('scheduled', { ...to, sendAt: later }));
    await sql`insert into suppressions (id, workspace_id, address, channel, sender, reason, source) values
      ('sup_1', ${workspaceId}, ${PHONE}, 'voice', '', ${`${NAME} called`}, 'api')`.execute(db);
    await sql`insert into lifted_suppressions (id, workspace_id, address, channel, sender, reason, source, blocked_at, lifted_by)
      values ('lif_1', ${workspaceId}, ${PHONE}, 'sms', '', 'x', 'api', now(), 'api')`.execute(db);
    await sql`insert into soft_bounces (workspace_id, address, message_id, day) values (${workspaceId}, ${EMAIL.toLowerCase()}, 'msg_1', now())`.execute(
      db,
    );
    await sql`insert into opt_out_notices values (${workspaceId}, '12345', ${PHONE}, 'msg_1')`.execute(db);
    await sql`insert into inbound_messages (id, provider, fingerprint, action, reply_to, reply_workspace, reply_id) values
      ('inb_1', 'http', 'f', 'stop', ${PHONE}, ${workspaceId}, 'msg_9')`.execute(db);
    await sql`insert into orphan_receipts (id, receipt, to_address, message_id) values
      ('o1', ${JSON.stringify({ text: PHONE })}, ${PHONE}, null), ('o2', ${JSON.stringify({ text: NAME })}, null, ${idOf(uid)})`.execute(
      db,
    );
    await sql`insert into sms_parts (provider, part_id, message_id, parts, data) values
      ('smpp', 'p1', ${idOf(uid)}, 2, ${JSON.stringify({ text: PHONE })})`.execute(db);
    await sql`insert into inbound_parts (provider, from_address, to_address, reference, parts, number, id, octets) values
      ('smpp', ${PHONE}, '12345', 9, 2, 1, 'inp_1', 'ST')`.execute(db);
    await sql`insert into vendor_calls (message_id, token, kind, account_id, provider, document, options) values
      (${idOf(uid)}, 'token', 'twilio', 'acc_1', 'twilio:acc_1', ${`<Response><Say>${NAME}</Say></Response>`}, '{}'),
      (${idOf('other')}, 'other', 'twilio', 'acc_1', 'twilio:acc_1', '<Response><Say>Mo</Say></Response>', '{}')`.execute(
      db,
    );
    const send = { to: PHONE, from: '12345', params: { NAME, CITY } };
    await sql`insert into durable_sends (id, workspace_id, uid, channel, content, state, due_at, finished_at) values
      ('snd_1', ${workspaceId}, 's1', 'sms', ${JSON.stringify(send)}, 'delivered', now(), now()),
      ('snd_2', ${workspaceId}, 's2', 'sms', ${JSON.stringify(send)}, 'waiting', now(), null),
      ('snd_3', ${workspaceId}, 's3', 'email', ${JSON.stringify({ ...send, to: SHOUTED })}, 'delivered', now(), now())`.execute(
      db,
    );
    return { runId, uid, delivery, idOf, sms, email };
  }

  /** What is about to be erased is what an export tells: every message, and what was filled in for the person. */
  async function expectExported(key: ContactKey, uids: string[]): Promise<void> {
    const activity = contactActivity(messaging);
    const timeline = createContactTimeline({ db, activity });
    const exported = await exportContact({ db, timeline, activity }, key);
    expect(exported.audiences).toMatchObject([{ values: { CITY } }]);
    const entries = await rowsOf(exported.entries);
    const messages = await rowsOf(exported.messages);
    expect(messages).toMatchObject(uids.map((uid) => ({ uid, params: { NAME, CITY } })));
    expect(messages).toContainEqual(
      expect.objectContaining({ uid: 'mail', to: EMAIL, state: 'undelivered' }),
    );
    const sends = entries.filter(({ kind }) => kind === 'send');
    expect(sends.map((entry) => 'uid' in entry && entry.uid).sort()).toEqual(['s1', 's2', 's3']);
    for (const send of sends) expect(send).toMatchObject({ values: { params: { NAME, CITY } } });
    expect(entries).toContainEqual(
      expect.objectContaining({
        kind: 'recipient',
        address: PHONE,
        values: expect.objectContaining({ NAME }),
      }),
    );
  }

  test('is in no column of any table, and states and counts are as before', async () => {
    const { workspaceId } = rig;
    const { runId, uid, delivery, idOf, sms, email } = await plantEverywhere();
    const tables = new Set((await tracesIn(db)).map((one) => one.split('.')[0]));
    expect([...tables].sort()).toEqual([
      'calls',
      'contact_list_members',
      'contact_uses',
      'contacts',
      'durable_sends',
      'event_log',
      'inbound_messages',
      'inbound_parts',
      'lifted_suppressions',
      'messages',
      'opt_out_notices',
      'orphan_receipts',
      'recipients',
      'skipped_contacts',
      'sms_parts',
      'soft_bounces',
      'suppressions',
      'vendor_calls',
      'webhook_deliveries',
    ]);
    const counts = await readCounts(db, runId);
    await expectExported({ workspaceId, contactId }, [uid, 'mail', 'shouted', 'scheduled']);

    const launcher = { launchSend: async () => undefined, wakeSend: async () => undefined };
    const sends = createDurableSends({ db, launcher, log });
    const erasures = keepErasing({ storage, delivery, cancelSend: sends.cancel, log });
    const key = { workspaceId, contactId };
    const first = await eraseContact(db, key, suppressErased);
    expect(await eraseContact(db, key, suppressErased)).toEqual(first);
    await sql`update erasures set created_at = now() - make_interval(secs => ${LIMITS.erasureSettleMs / 1_000})`.execute(
      db,
    );
    await until(
      'the erasure is done',
      async () => {
        await erasures.look();
        const open = await db.selectFrom('erasures').select('id').where('done_at', 'is', null).execute();
        return open.length === 0;
      },
      30_000,
    );
    erasures.stop();
    expect(await tracesIn(db)).toEqual([]);
    expect(await messaging.selectFrom('vendor_calls').select('token').execute()).toEqual([
      { token: 'other' },
    ]);

    // States and counts stay, and so does everybody else.
    expect(await readCounts(db, runId)).toEqual(counts);
    expect(await rig.states()).toMatchObject({
      [uid]: 'delivered',
      mail: 'undelivered',
      other: 'delivered',
      scheduled: 'canceled',
    });
    expect(await delivery.track(workspaceId, uid)).toMatchObject({
      to: null,
      params: {},
      state: 'delivered',
    });
    expect(await delivery.track(workspaceId, 'other')).toMatchObject({
      ...{ to: other, params: { NAME: 'Mo' } },
      events: [{}, {}, { data: { text: 'hello Mo' } }],
    });
    const { events } = await delivery.readEvents(workspaceId, { limit: 100, waitSeconds: 0 });
    expect(events.find((one) => one.uid === 'other' && one.type === 'delivered')?.data).toEqual({
      text: 'hello Mo',
    });
    expect(events.find((one) => one.uid === 'mail' && one.type === 'undelivered')).toMatchObject({
      code: '550',
      data: { smtp: null },
    });
    expect(
      await db.selectFrom('contacts').selectAll().where('id', '=', 'con_shared').executeTakeFirst(),
    ).toMatchObject({
      name: 'Mo',
      email: 'mo@example.com',
      phone: null,
    });
    expect(await db.selectFrom('durable_sends').select(['id', 'state']).orderBy('id').execute()).toEqual([
      { id: 'snd_1', state: 'delivered' },
      { id: 'snd_2', state: 'canceled' },
      { id: 'snd_3', state: 'delivered' },
    ]);

    // A receipt that comes late tells its state, and none of its words.
    await sms.report({ id: idOf(uid), type: 'digits', data: { text: `seen by ${PHONE}` } });
    // Its process remembers this message as it was handed over, with the person.
    await email.report({ id: idOf('shouted'), type: 'delivered', data: { smtp: `250 <${EMAIL}>` } });
    expect(await rig.states()).toMatchObject({ shouted: 'delivered' });
    expect(
      (await tracesIn(db)).filter((one) => one.startsWith('messages') || one.startsWith('event_log')),
    ).toEqual([]);
  });

  test('is in no delivery to a webhook that was being made meanwhile', async () => {
    const { workspaceId } = rig;
    const { delivery, sms } = await rig.process();
    const to = '+12025550177';
    const { id } = await delivery.accept(workspaceId, rig.sms('late', { to }));
    await until('it is sent', async () => (await rig.states()).late === 'sent');
    await sms.report({ id, type: 'delivered', data: { words: `to ${to}` } });
    const [endpoint] = await readEndpoints(messaging);
    if (!endpoint) throw new Error('There is no endpoint');
    const lock = await messaging.startTransaction().execute();
    await sql`select from webhooks where id = ${endpoint.id} for update`.execute(lock);
    const telling = fanOutMessages(messaging, endpoint);
    await until('the events are read', async () => {
      const { rows } = await sql`select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%update webhooks%'`.execute(
        messaging,
      );
      return rows.length > 0;
    });
    const erasing = eraseMessages(messaging, { workspaceId, addresses: [to], words: [] });
    await Promise.race([erasing, delay(500)]);
    await lock.commit().execute();
    await Promise.all([telling, erasing]);
    const { rows } = await sql`select body from webhook_deliveries where position(${to} in body) > 0`.execute(
      messaging,
    );
    expect(rows).toEqual([]);
  });

  test('stays suppressed by a hash: no audience, message or opt-out brings the address back', async () => {
    const { workspaceId } = rig;
    const list = createSuppressionList({ db: messaging });
    const { suppressions } = await list.list(workspaceId, { page: 1, limit: 10 });
    expect(suppressions).toHaveLength(2);
    for (const one of suppressions)
      expect(one).toMatchObject({ address: null, channel: 'all', reason: 'erased', source: 'erased' });
    expect((await list.list(workspaceId, { page: 1, limit: 10, search: '2025558861' })).total).toBe(0);

    const block = { channel: 'sms' as const, address: PHONE, reason: 'STOP', sender: undefined };
    expect(await upsertSuppressions(messaging, workspaceId, [block], 'keyword')).toEqual({
      created: 0,
      updated: 0,
      unchanged: 1,
    });
    expect(await list.add(workspaceId, block, 'api')).toMatchObject({
      created: false,
      suppression: { reason: 'erased' },
    });

    const { rows } = await sql<{ blocked: boolean; elsewhere: boolean; free: boolean }>`select
      ${suppression(workspaceId, { channel: 'email', from: 'x@y.z', address: sql`${EMAIL.toUpperCase()}::text` })} as blocked,
      ${suppression('ws_other', { channel: 'email', from: 'x@y.z', address: sql`${EMAIL}::text` })} as elsewhere,
      ${suppression(workspaceId, { channel: 'sms', from: '12345', address: sql`${other}::text` })} as free`.execute(
      db,
    );
    expect(rows[0]).toEqual({ blocked: true, elsewhere: false, free: false });
    const { delivery } = await rig.process();
    expect(await delivery.accept(workspaceId, rig.sms('again', { to: PHONE }))).toMatchObject({
      state: 'suppressed',
    });

    await list.remove(workspaceId, { channel: 'all', address: PHONE, anySender: true });
    expect(await delivery.accept(workspaceId, rig.sms('lifted', { to: PHONE }))).toMatchObject({
      state: 'accepted',
    });
  });
});
