import { sql } from 'kysely';
import { isDomainError } from '../../../../src/domain/errors';
import { LIMITS } from '../../../../src/domain/limits';
import { createOutboxCount, recountRestMs } from '../../../../src/messaging/outbox/queue/outbox-count';
import type { Storage } from '../../../../src/storage/storage';
import { describeWithDatabase } from '../../../support/storage';
import { until } from '../../../support/until';
import { addTemplate, allEvents, createOutboxRig, type OutboxRig, type TestProcess } from '../../outbox-rig';

describeWithDatabase('accepting messages', (database) => {
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

  const accept = (message: Parameters<typeof one.delivery.accept>[1]) =>
    one.delivery.accept(rig.workspaceId, message);
  const refusal = async (message: Parameters<typeof one.delivery.accept>[1]) => {
    const error = await accept(message).catch((caught: unknown) => caught);
    if (!isDomainError(error)) throw new Error('accepted, or failed in another way');
    return error;
  };

  test('a message is rendered, handed over once, and followed to its end', async () => {
    const accepted = await accept(rig.sms('m1', { params: { NAME: 'Zoë €' } }));
    expect(accepted).toMatchObject({ state: 'accepted', duplicate: false, segments: 1, encoding: 'ucs2' });
    await until('it is sent', async () => (await rig.states()).m1 === 'sent');
    expect(one.sms.taken).toEqual([
      expect.objectContaining({ id: accepted.id, uid: 'm1', text: 'Hello Zoë €', attempt: 1 }),
    ]);
    await one.sms.report({ id: accepted.id, type: 'delivered', at: '2026-01-01T00:00:00Z' });
    const tracked = await one.delivery.track(rig.workspaceId, 'm1');
    expect(tracked).toMatchObject({ state: 'delivered', attempt: 1, provider: 'scripted' });
    expect(tracked.events.map((event) => event.type)).toEqual(['accepted', 'sent', 'delivered']);
    expect(await allEvents(one.delivery, rig.workspaceId)).toEqual(tracked.events);
  });

  test('identical requests at the same moment are one message, sent once', async () => {
    const message = rig.sms('same');
    const answers = await Promise.all(Array.from({ length: 40 }, () => accept(message)));
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(1);
    expect(answers.filter((answer) => !answer.duplicate)).toHaveLength(1);
    await until('it is sent', async () => (await rig.states()).same === 'sent');
    const later = await accept(message);
    expect(later).toMatchObject({ duplicate: true, state: 'sent', id: answers[0]?.id });
    expect(one.sms.uids()).toEqual(['same']);
    expect(await allEvents(one.delivery, rig.workspaceId)).toHaveLength(2);
  });

  test('two processes given the same uid at the same moment keep one message', async () => {
    const two = await rig.process();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        (i % 2 ? one : two).delivery.accept(rig.workspaceId, rig.sms(`u${i >> 1}`)),
      ),
    );
    expect(answers.filter((answer) => !answer.duplicate)).toHaveLength(20);
    await until('all are sent', async () => Object.values(await rig.states()).every((s) => s === 'sent'));
    expect([...one.sms.uids(), ...two.sms.uids()].sort()).toEqual(
      Array.from({ length: 20 }, (_, i) => `u${i}`).sort(),
    );
  });

  test('the same uid with other content is a conflict, and the same uid elsewhere is not', async () => {
    await accept(rig.sms('m1'));
    expect(await refusal(rig.sms('m1', { params: { NAME: 'Bob' } }))).toMatchObject({ code: 'uid_conflict' });
    expect(await refusal(rig.email('m1'))).toMatchObject({ code: 'uid_conflict' });
    const other = await createOutboxRig(storage);
    const answer = await one.delivery.accept(other.workspaceId, other.sms('m1'));
    expect(answer.duplicate).toBe(false);
  });

  test('params in another order, and address punctuation, are the same payload', async () => {
    const template = await addTemplate(rig.db, rig.workspaceId, { channel: 'sms', body: '{{A}}{{B}}' });
    await accept(rig.sms('m1', { 'template-id': template, params: { A: '1', B: 2 } }));
    const again = rig.sms('m1', {
      'template-id': template,
      params: { B: 2, A: '1' },
      to: '+1 (202) 555-0123',
    });
    expect(await accept(again)).toMatchObject({ duplicate: true });
  });

  test('missing placeholders, unknown templates and templates of another channel are refused', async () => {
    const missing = await refusal(rig.sms('m1', { params: {} }));
    expect(missing).toMatchObject({ code: 'missing_params', errors: [{ path: 'params.NAME' }] });
    expect(await refusal(rig.sms('m2', { 'template-id': 'tpl_none' }))).toMatchObject({
      code: 'template_not_found',
    });
    expect(await refusal(rig.sms('m3', { 'template-id': rig.emailTemplate }))).toMatchObject({
      code: 'template_not_found',
    });
    expect(await refusal(rig.sms('m4', { version: 7 }))).toMatchObject({ code: 'template_not_found' });
    expect(await refusal(rig.email('m5', { params: { NAME: 'a\r\nBcc: b' } }))).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: 'params.NAME' }],
    });
    expect(await rig.states()).toEqual({});
  });

  test('values that make a text too long to be sent are refused before it is filled in', async () => {
    const long = 'x'.repeat(16 * 1_024);
    const smsTemplate = await addTemplate(rig.db, rig.workspaceId, {
      channel: 'sms',
      body: '{{A}}'.repeat(3),
    });
    const message = { 'template-id': smsTemplate, params: { A: long } };
    expect(await refusal(rig.sms('long', message))).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: 'params', code: 'too_long' }],
    });
    expect(await accept(rig.sms('short', { ...message, params: { A: 'x' } }))).toMatchObject({ segments: 1 });
    const email = { subject: 'S', body: `<p>${'{{A}}'.repeat(100_000)}</p>`, params: { A: long } };
    expect(await refusal(rig.email('huge', email))).toMatchObject({
      message: 'Filled in, the text has 1638400007 characters; at most 4194304 can be sent',
    });
    const subject = { subject: '{{A}}', body: 'b', params: { A: 'x'.repeat(999) } };
    expect((await refusal(rig.email('subject', subject))).message).toContain('the subject has 999');
  });

  test('an email is rendered from its own texts where it has them', async () => {
    await accept(rig.email('stored', { replyTo: 'r@example.com' }));
    await accept(rig.email('body', { body: '<b>{{NAME}} & {{WHO}}</b>', params: { NAME: 'A', WHO: '<i>' } }));
    await accept({ ...rig.email('own', { body: 'B', subject: 'S' }), 'template-id': undefined });
    await until('all are sent', async () => one.email.taken.length === 3);
    const [stored, body, own] = ['stored', 'body', 'own'].map((uid) =>
      one.email.taken.find((message) => message.uid === uid),
    );
    expect(stored).toMatchObject({ subject: 'For Ada', html: '<p>Dear Ada</p>', text: 'Dear Ada' });
    expect(stored?.headers).toEqual({ 'Reply-To': 'r@example.com' });
    expect(body).toMatchObject({ subject: 'For A', html: '<b>A & &lt;i&gt;</b>', text: 'A & <i>' });
    expect(own).toMatchObject({ subject: 'S', html: 'B' });
  });

  test('a message that the database refuses fails alone', async () => {
    const messages = Array.from({ length: 30 }, (_, i) =>
      rig.sms(`m${i}`, i === 17 ? { params: { NAME: 'bad \u0000' } } : {}),
    );
    const results = await Promise.allSettled(messages.map(accept));
    const failed = results.filter((result) => result.status === 'rejected');
    expect(failed).toHaveLength(1);
    expect(failed[0]).toMatchObject({ reason: { code: 'invalid_request' } });
    await until('the others are sent', async () => one.sms.taken.length === 29);
    const accepted = (await allEvents(one.delivery, rig.workspaceId)).filter((e) => e.type === 'accepted');
    expect(accepted).toHaveLength(29);
  });

  test('of several, each is judged alone and answered in its place', async () => {
    await accept(rig.sms('old'));
    const outcomes = await one.delivery.acceptMany(rig.workspaceId, [
      rig.sms('a'),
      rig.sms('b', { params: {} }),
      rig.sms('a'),
      rig.sms('old'),
      rig.sms('old', { params: { NAME: 'x' } }),
      rig.email('c'),
    ]);
    const told = outcomes.map((o) => (o.ok ? o.answer.duplicate : isDomainError(o.error) && o.error.code));
    expect(told).toEqual([false, 'missing_params', true, true, 'uid_conflict', false]);
  });

  test('what a caller repeats is sent, also when the commit was never heard of here', async () => {
    const message = rig.sms('m1', { sendAt: new Date(Date.now() + 3_600_000).toISOString() });
    await accept(message);
    // As good as written by a connection that broke: the dispatcher does not know that it is due.
    await rig.db
      .updateTable('messages')
      .set({ state: 'accepted', due_at: new Date(0) })
      .execute();
    expect(await accept(message)).toMatchObject({ duplicate: true, state: 'accepted' });
    await until('it is sent', async () => (await rig.states()).m1 === 'sent');
    expect(one.sms.uids()).toEqual(['m1']);
  });

  test('what was accepted is answered for again, whatever became of its template and of the outbox', async () => {
    const kept = rig.sms('kept');
    const first = await accept(kept);
    await until('it is sent', async () => (await rig.states()).kept === 'sent');
    const again = { id: first.id, state: 'sent', duplicate: true };

    const change = (set: { archived_at?: Date; current_version?: number }) =>
      rig.db.updateTable('templates').set(set).where('id', '=', rig.smsTemplate).execute();
    const body = 'Hello {{NAME}} {{MORE}}';
    await rig.db
      .insertInto('template_versions')
      .values({ template_id: rig.smsTemplate, version: 2, body, design: 'null' })
      .execute();
    await change({ current_version: 2 });
    const changed = await rig.process();
    expect(await changed.delivery.accept(rig.workspaceId, kept)).toMatchObject(again);
    const wanting = changed.delivery.accept(rig.workspaceId, rig.sms('new'));
    await expect(wanting).rejects.toMatchObject({ code: 'missing_params' });

    await change({ archived_at: new Date() });
    const archived = await rig.process();
    const outcomes = await archived.delivery.acceptMany(rig.workspaceId, [
      rig.sms('new'),
      kept,
      rig.sms('kept', { params: { NAME: 'Bob' } }),
      rig.email('other'),
    ]);
    const told = outcomes.map((o) => (o.ok ? o.answer.duplicate : isDomainError(o.error) && o.error.code));
    expect(told).toEqual(['template_not_found', true, 'uid_conflict', false]);
  });

  test('a lane that another process took over is replaced by a new one', async () => {
    await accept(rig.sms('before'));
    await rig.db.updateTable('dispatch_lanes').set({ fence: 99, owner: 'somebody' }).execute();
    expect(await accept(rig.sms('after'))).toMatchObject({ duplicate: false });
    await until('it is sent', async () => (await rig.states()).after === 'sent');
    await rig.db.deleteFrom('dispatch_lanes').where('owner', '=', 'somebody').execute();
  });

  test('workspaces that find the lane taken over at the same moment all wait for the new one', async () => {
    const others = await Promise.all(Array.from({ length: 5 }, () => createOutboxRig(storage)));
    await accept(rig.sms('before'));
    await until('it is sent', async () => (await rig.states()).before === 'sent');
    await rig.db.updateTable('dispatch_lanes').set({ fence: 99, owner: 'somebody' }).execute();
    const all = [rig, ...others];
    const answers = await Promise.all(
      all.map((each) => one.delivery.accept(each.workspaceId, each.sms('after'))),
    );
    expect(answers.filter((answer) => !answer.duplicate)).toHaveLength(all.length);
    await rig.db.deleteFrom('dispatch_lanes').where('owner', '=', 'somebody').execute();
    await Promise.all(others.map((each) => each.stop()));
  });

  test('beyond the bound of the outbox a message is refused for now, and other workspaces are not', async () => {
    await one.delivery.hold(rig.workspaceId, 'many');
    await accept(rig.sms('first', { campaign: 'many' }));
    await sql`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, campaign, class,
        payload_hash, state, due_at, lane, accepted_seq)
      select id || g, workspace_id, uid || g, channel, to_address, from_address, params, campaign, class,
        payload_hash, state, due_at, lane, accepted_seq
      from messages, generate_series(2, ${LIMITS.outboxMessages}) g
      where workspace_id = ${rig.workspaceId}
    `.execute(rig.db);
    const two = await rig.process();
    const sending = two.delivery.accept(rig.workspaceId, rig.sms('over'));
    await expect(sending).rejects.toMatchObject({
      code: 'outbox_full',
      retryAfterSeconds: expect.any(Number),
    });
    const reset = rig.sms('reset', { class: 'transactional' });
    expect(await two.delivery.accept(rig.workspaceId, reset)).toMatchObject({ state: 'accepted' });
    const repeated = await two.delivery.accept(rig.workspaceId, rig.sms('first', { campaign: 'many' }));
    expect(repeated).toMatchObject({ state: 'accepted', duplicate: true });
    const other = await createOutboxRig(storage);
    await two.delivery.accept(other.workspaceId, other.sms('elsewhere'));
    expect((await rig.states()).over).toBeUndefined();
  });

  test('the outbox of a workspace is bounded by its undelivered due messages', async () => {
    one.sms.script = one.sms.hang;
    await Promise.all(Array.from({ length: 12 }, (_, i) => accept(rig.sms(`m${i}`))));
    await accept(rig.sms('later', { sendAt: new Date(Date.now() + 3_600_000).toISOString() }));
    await accept(rig.sms('reset', { class: 'transactional' }));
    const count = createOutboxCount(rig.db, { bounds: { marketing: 20, transactional: 5 } });
    await count.start();
    const marketing = { class: 'marketing', channel: 'sms' } as const;
    const transactional = { class: 'transactional', channel: 'sms' } as const;
    const room = (of: Parameters<typeof count.room>[1]) => count.room(rig.workspaceId, of);
    expect([room(marketing), room(transactional)]).toEqual([8, 4]);
    expect(count.room('ws_other', marketing)).toBe(20);
    count.change(rig.workspaceId, marketing, 7);
    expect([room(marketing), room(transactional)]).toEqual([1, 4]);
    // A carrier of texts that takes nothing keeps no mail out.
    expect(room({ class: 'marketing', channel: 'email' })).toBe(20);
    expect(count.depth(rig.workspaceId).marketing).toEqual({
      ...{ undelivered: 19, bound: 20 },
      channels: { email: 0, sms: 19, voice: 0 },
    });
    count.stop();
  });

  test('a scheduled message counts from its time on, and what leaves is not subtracted twice', async () => {
    one.sms.script = one.sms.hang;
    const sendAt = new Date(Date.now() + 2_000).toISOString();
    await Promise.all(Array.from({ length: 3 }, (_, i) => accept(rig.sms(`soon${i}`, { sendAt }))));
    const count = createOutboxCount(rig.db, { bounds: { marketing: 20, transactional: 5 } });
    await count.start();
    const undelivered = () => count.depth(rig.workspaceId).marketing.undelivered;
    expect(undelivered()).toBe(0);
    await until('all three have fallen due', () => undelivered() === 3, 3_000);
    const of = { class: 'marketing', channel: 'sms' } as const;
    count.change(rig.workspaceId, of, -1);
    count.change(rig.workspaceId, of, 4, Date.now() + 1_100);
    expect(undelivered()).toBe(2);
    await until('four more have', () => undelivered() === 6, 1_500);
    count.stop();
  });

  test('scheduled messages that leave, expire or are canceled make no room for others', async () => {
    await one.delivery.hold(rig.workspaceId, 'held');
    await Promise.all(Array.from({ length: 9 }, (_, i) => accept(rig.sms(`h${i}`, { campaign: 'held' }))));
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    const sent = ['s1', 's2', 's3'];
    await Promise.all(sent.map((uid) => accept(rig.sms(uid, { sendAt: at(1_000) }))));
    await accept(rig.sms('expiring', { sendAt: at(30_000), expiresAt: at(500) }));
    await accept(rig.sms('canceled', { sendAt: at(30_000) }));
    await one.delivery.cancel(rig.workspaceId, 'canceled');
    await until('they have left, and one has expired', async () => {
      const states = await rig.states();
      return sent.every((uid) => states[uid] === 'sent') && states.expiring === 'expired';
    });
    expect(one.delivery.outboxDepth(rig.workspaceId).marketing.undelivered).toBe(9);
  });

  test('what is held aside takes room from its own tag alone, and once released until it has left', async () => {
    one.sms.script = one.sms.hang;
    await one.delivery.hold(rig.workspaceId, 'paused', true);
    await one.delivery.hold(rig.workspaceId, 'held');
    // Held once more by a caller who does not ask for it, it stands aside all the same.
    await one.delivery.hold(rig.workspaceId, 'paused');
    await Promise.all(Array.from({ length: 15 }, (_, i) => accept(rig.sms(`p${i}`, { campaign: 'paused' }))));
    await Promise.all(Array.from({ length: 4 }, (_, i) => accept(rig.sms(`h${i}`, { campaign: 'held' }))));
    const count = createOutboxCount(rig.db, { bounds: { marketing: 20, transactional: 5 } });
    await count.start();
    const room = (campaign?: string) =>
      count.room(rig.workspaceId, { class: 'marketing', channel: 'sms', campaign });
    const undelivered = () => count.depth(rig.workspaceId).marketing.undelivered;
    expect([room(), room('held'), room('paused'), undelivered()]).toEqual([16, 16, 1, 4]);

    await one.delivery.release(rig.workspaceId, 'paused');
    count.released(rig.workspaceId, 'paused');
    expect(undelivered()).toBe(19);
    expect([room(), room('held'), room('paused')]).toEqual([16, 16, 1]);

    await one.delivery.hold(rig.workspaceId, 'held', true);
    count.held();
    await until('it is counted', () => undelivered() === 15, 2_000);
    expect([room(), room('held'), room('paused')]).toEqual([20, 16, 5]);

    one.sms.script = (message) => ({ kind: 'accepted', providerId: message.id });
    one.sms.release({ kind: 'accepted', providerId: 'p' });
    await until('it has left', () => undelivered() === 0, 15_000);
    expect([room(), room('held'), room('paused')]).toEqual([20, 16, 20]);
    count.stop();
  }, 60_000);

  test('what stands aside makes no room for others when it is canceled', async () => {
    one.sms.script = one.sms.hang;
    await one.delivery.hold(rig.workspaceId, 'paused', true);
    const uids = Array.from({ length: 15 }, (_, i) => `p${i}`);
    await Promise.all(uids.map((uid) => accept(rig.sms(uid, { campaign: 'paused' }))));
    const undelivered = () => one.delivery.outboxDepth(rig.workspaceId).marketing.undelivered;
    await until('it stands aside', () => undelivered() === 0, 10_000);
    await Promise.all(Array.from({ length: 20 }, (_, i) => accept(rig.sms(`m${i}`))));
    const before = undelivered();
    expect(before).toBeGreaterThan(0);
    await Promise.all(uids.map((uid) => one.delivery.cancel(rig.workspaceId, uid)));
    expect(undelivered()).toBe(before);
  }, 30_000);

  test('an outbox that another process has emptied is not full for the one that only refuses', async () => {
    one.sms.script = one.sms.hang;
    await Promise.all(Array.from({ length: 3 }, (_, i) => accept(rig.sms(`m${i}`))));
    const count = createOutboxCount(rig.db, { bounds: { marketing: 3, transactional: 5 } });
    await count.start();
    const room = () => count.room(rig.workspaceId, { class: 'marketing', channel: 'sms' });
    expect(room()).toBe(0);
    one.sms.script = (message) => ({ kind: 'accepted', providerId: message.id });
    one.sms.release({ kind: 'accepted', providerId: 'p' });
    await until('all are sent', async () =>
      Object.values(await rig.states()).every((state) => state === 'sent'),
    );
    await until('there is room again', () => room() === 3, 15_000);
    count.stop();
  });

  test.each([
    ['every five seconds as a rule', 1, 5_000],
    ['so seldom that it takes a hundredth of the time', 120, 12_000],
    ['twice a minute even after one whose process was frozen', 14_000, 30_000],
  ])('the outbox is counted %s', (_often, tookMs, restMs) => {
    expect(recountRestMs(tookMs)).toBe(restMs);
  });
});
