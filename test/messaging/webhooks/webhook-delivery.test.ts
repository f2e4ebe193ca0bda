import { Webhook as Verifier } from 'standardwebhooks';
import { LIMITS } from '../../../src/domain/limits';
import { createSealing } from '../../../src/messaging/access/sealing';
import { sealSecrets } from '../../../src/messaging/webhooks/sealed-secrets';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { type ReceivedRequest, type Receiver, startReceiver } from './receiver';
import { createWebhookRig, type WebhookRig } from './webhook-rig';

const OTHER = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

/** A day in 86 ms: the ladder of attempts takes 0.3 s, and its five days of failing 0.4 s. */
const COMPRESSED = { scale: 1e-6 };

describeWithDatabase('delivery of webhooks', (database) => {
  let storage: Storage;
  let rig: WebhookRig;
  let receiver: Receiver;

  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createWebhookRig(storage);
    receiver = await startReceiver();
  });
  afterEach(async () => {
    await rig.stop();
    await receiver.close();
  });

  const create = async (events: string[], url = receiver.url) =>
    (await rig.webhooks.create(rig.workspaceId, { url, events, description: null })).webhook.id;
  const read = (id: string) => rig.webhooks.read(rig.workspaceId, id);

  test('every event is delivered once, signed as an independent implementation understands it', async () => {
    const { workspaceId } = rig;
    const input = { url: receiver.url, events: ['message.*'], description: null };
    const { secret } = await rig.webhooks.create(workspaceId, input);
    await rig.deliver();
    await rig.accept(250);
    await until('all are there', () => receiver.taken.size === 250);
    expect(receiver.requests).toHaveLength(250);

    const verifier = new Verifier(secret);
    for (const { body, headers } of receiver.requests) {
      expect(verifier.verify(body, headers as Record<string, string>)).toEqual(JSON.parse(body));
    }
    const { event } = receiver.requests[0] ?? {};
    expect(event).toMatchObject({ type: 'message.scheduled', timestamp: event.data.occurredAt });
    expect(event.data).toMatchObject({ channel: 'sms', sequence: event.data.seq, occurredAt: event.data.at });
    expect(JSON.stringify(receiver.requests.map(({ body }) => body))).not.toContain('2025550123');
    const sequences = receiver.requests.map(({ event: one }) => one.data.sequence).sort((a, b) => a - b);
    expect(new Set(sequences).size).toBe(250);
  });

  test('only subscribed events are delivered, and none from before', async () => {
    await rig.accept(3);
    const wanted = await create(['message.scheduled'], `${receiver.url}/wanted`);
    const other = await create(['message.delivered', 'campaign.*'], `${receiver.url}/other`);
    await rig.deliver();
    await rig.accept(5);
    await until('five are there', () => receiver.taken.size === 5);
    await until('the other has read on', async () => (await read(other)).unread === 0);
    expect(receiver.requests.map(({ path }) => path)).toEqual(Array(5).fill('/told/wanted'));
    await until('it is recorded', async () => (await rig.deliveries(wanted, 'delivered')).length === 5);
    expect(await rig.deliveries(other)).toEqual([]);
  });

  test('a receiver that was down for days gets everything once it is back', async () => {
    receiver.answerWith(() => ({ status: 500, body: 'Not\u0000 today' }));
    const id = await create(['*']);
    await rig.deliver({ timing: { scale: 1e-4 } });
    await rig.accept(60);
    await until('each was tried four times', async () => {
      const tried = await rig.deliveries(id, 'pending');
      return tried.length === 60 && tried.every(({ attempts }) => attempts >= 4);
    });
    const [one] = await rig.deliveries(id, 'pending');
    expect(one).toMatchObject({ status: 500, code: 'http_500', answer: 'Not  today' });
    expect((await read(id)).failingSince).not.toBeNull();

    receiver.answerWith(() => ({ status: 200 }));
    await until('all are there', () => receiver.taken.size === 60);
    // Under the same id with each attempt.
    expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(60);
    await until('it is well', async () => (await read(id)).failingSince === null);
    await until('all are recorded', async () => (await rig.deliveries(id, 'delivered')).length === 60);
  });

  test('after ten attempts a delivery has failed, and can be made again', async () => {
    let status = 500;
    receiver.answerWith(({ event }) => ({ status: event.type === 'webhook.test' ? 200 : status }));
    const id = await create(['*']);
    await rig.deliver({ timing: COMPRESSED });
    await rig.accept(2);
    const failures = async () =>
      (await rig.deliveries(id, 'failed')).filter(({ type }) => type !== 'webhook.disabled');
    // Some success keeps it from being disabled, or it is enabled again where that came too late.
    const keepAlive = () =>
      rig.webhooks
        .test(rig.workspaceId, id)
        .catch(() => rig.webhooks.change(rig.workspaceId, id, { enabled: true }));
    await until('both have failed', async () => {
      await keepAlive();
      return (await failures()).length >= 2;
    });
    const failed = await failures();
    expect(failed.map(({ attempts, dueAt }) => [attempts, dueAt])).toEqual([
      [10, null],
      [10, null],
    ]);

    status = 200;
    await rig.webhooks.change(rig.workspaceId, id, { enabled: true });
    const [first, second] = failed.map((delivery) => delivery.id);
    await rig.webhooks.redeliver(rig.workspaceId, id, first as string);
    await until('the first is there', () => receiver.taken.has(first as string));
    expect(receiver.taken.has(second as string)).toBe(false);
    const begun = await rig.webhooks.redeliverFailed(rig.workspaceId, id, undefined);
    expect(begun).toEqual({ redelivered: 1, more: false });
    await until('the second is there', () => receiver.taken.has(second as string));
  });

  test('one that fails for five days without a success is disabled, and says so', async () => {
    receiver.answerWith(() => ({ status: 500 }));
    const id = await create(['*']);
    await rig.deliver({ timing: COMPRESSED });
    await until('it is disabled', async () => {
      await rig.accept(1);
      return !(await read(id)).enabled;
    });
    expect(await read(id)).toMatchObject({ disabledReason: 'failing', enabled: false });
    const [notice] = (await rig.deliveries(id)).filter(({ type }) => type === 'webhook.disabled');
    expect(notice).toMatchObject({ state: 'failed', code: 'webhook_disabled', attempts: 0 });
    await expect(rig.webhooks.test(rig.workspaceId, id)).rejects.toMatchObject({ code: 'webhook_disabled' });

    // What waited goes on once it is enabled; what happened meanwhile is not told.
    const waiting = await rig.deliveries(id, 'pending');
    await rig.accept(1);
    receiver.answerWith(() => ({ status: 200 }));
    await rig.webhooks.change(rig.workspaceId, id, { enabled: true });
    await until('what waited is there', () => waiting.every((delivery) => receiver.taken.has(delivery.id)));
    expect(await read(id)).toMatchObject({ enabled: true, disabledReason: null });
  });

  test('410 disables at once', async () => {
    receiver.answerWith(() => ({ status: 410 }));
    const id = await create(['*']);
    await rig.deliver();
    await rig.accept(1);
    await until('it is disabled', async () => !(await read(id)).enabled);
    expect((await read(id)).disabledReason).toBe('gone');
    expect(receiver.requests).toHaveLength(1);
  });

  test.each([
    ['410', { status: 410, headers: {} }],
    ['a Retry-After', { status: 503, headers: { 'retry-after': '3600' } }],
  ])('%s of a former address says nothing about the one that replaced it', async (_what, late) => {
    let answer = () => {};
    receiver.answerWith(({ path }, response) => {
      if (path === '/new') return { status: 204 };
      answer = () => response.writeHead(late.status, late.headers).end();
      return 'nothing';
    });
    const id = await create(['*']);
    await rig.deliver();
    await rig.webhooks.test(rig.workspaceId, id);
    await until('it is under way', () => receiver.requests.length === 1);
    await rig.webhooks.change(rig.workspaceId, id, { url: receiver.url.replace('/told', '/new') });
    answer();
    await until('the new address is told at once', () => receiver.taken.size === 1);
    await until('both attempts are recorded', async () => (await rig.deliveries(id))[0]?.attempts === 2);
    expect(await read(id)).toMatchObject({ enabled: true, pausedUntil: null, failingSince: null });
  });

  test.each([
    ['the address has changed', () => [{ url: receiver.url.replace('/told', '/new') }]],
    ['the webhook is enabled again', () => [{ enabled: false }, { enabled: true }]],
  ])('what waits for hours is told at once when %s', async (_what, changes) => {
    receiver.answerWith(() => ({ status: 503, headers: { 'retry-after': '36000' } }));
    const id = await create(['*']);
    await rig.deliver();
    await rig.accept(1);
    await until('it waits', async () => (await rig.deliveries(id, 'pending'))[0]?.attempts === 1);
    receiver.answerWith(() => ({ status: 204 }));
    for (const change of changes()) await rig.webhooks.change(rig.workspaceId, id, change);
    await until('it is there', () => receiver.taken.size === 1);
  });

  test('Retry-After is honoured, by the whole endpoint', async () => {
    receiver.answerWith(() => ({ status: 503, headers: { 'retry-after': '1' } }));
    const id = await create(['*']);
    await rig.deliver({ timing: COMPRESSED });
    await rig.webhooks.test(rig.workspaceId, id);
    await until('it has asked', () => receiver.requests.length === 1);
    const askedAt = Date.now();
    await until('it is paused', async () => (await read(id)).pausedUntil !== null);
    receiver.answerWith(() => ({ status: 200 }));
    await rig.webhooks.test(rig.workspaceId, id);
    await until('both are there', () => receiver.taken.size === 2);
    expect(Date.now() - askedAt).toBeGreaterThanOrEqual(950);
  });

  test.each([301, 302, 307, 308])('a redirect by %i is a failure, and is not followed', async (status) => {
    const elsewhere = await startReceiver();
    receiver.answerWith(() => ({ status, headers: { location: elsewhere.url } }));
    const id = await create(['*']);
    await rig.deliver();
    await rig.webhooks.test(rig.workspaceId, id);
    const [tried] = await until('it was tried', async () => {
      const all = await rig.deliveries(id);
      return all[0]?.attempts === 1 && all;
    });
    expect(tried).toMatchObject({ state: 'pending', status, code: `http_${status}` });
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.close();
  });

  test('an endpoint that never answers, with a thousand due, delays no other', async () => {
    const silent = await startReceiver();
    silent.answerWith(() => 'nothing');
    const dead = await create(['message.*'], silent.url);
    const alive = await create(['campaign.*']);
    await rig.deliver();
    await rig.accept(1_000);
    await until('its places are taken', () => silent.requests.length === LIMITS.webhookInFlightSlow);
    expect((await read(dead)).pending).toBe(1_000);
    const began = Date.now();
    for (let i = 0; i < 20; i++) await rig.webhooks.test(rig.workspaceId, alive);
    await until('the other is told all', () => receiver.taken.size === 20);
    expect(Date.now() - began).toBeLessThan(5_000);
    expect(silent.requests).toHaveLength(LIMITS.webhookInFlightSlow);
    await silent.close();
  });

  test('a backlog that is full leaves events in the feed, and none is lost', async () => {
    receiver.answerWith(() => ({ status: 503, headers: { 'retry-after': '86400' } }));
    const id = await create(['message.*']);
    await rig.deliver();
    await rig.accept(1);
    await until('it is paused', async () => (await read(id)).pausedUntil !== null);
    for (let i = 0; i < 3; i++) await rig.accept(1_000);
    await until('the backlog is full', async () => (await read(id)).pending === 2_000);
    expect((await read(id)).unread).toBe(1_001);

    receiver.answerWith(() => ({ status: 200 }));
    await rig.db.updateTable('webhooks').set({ paused_until: null }).where('id', '=', id).execute();
    await rig.db
      .updateTable('webhook_deliveries')
      .set({ due_at: new Date() })
      .where('webhook_id', '=', id)
      .where('due_at', 'is not', null)
      .execute();
    await until('all are there', () => receiver.taken.size === 3_001, 60_000);
    const sequences = new Set([...receiver.taken.values()].map(({ event }) => event.data.sequence));
    expect(sequences.size).toBe(3_001);
  }, 150_000);

  test('for a day after a rotation both secrets sign', async () => {
    const input = { url: receiver.url, events: ['*'], description: null };
    const { webhook, secret: old } = await rig.webhooks.create(rig.workspaceId, input);
    const { secret, webhook: after } = await rig.webhooks.rotateSecret(rig.workspaceId, webhook.id);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const overlapMs = (after.oldSecretValidTill?.getTime() ?? 0) - Date.now();
    expect(Math.round(overlapMs / 3_600_000)).toBe(24);
    await rig.deliver();
    await rig.webhooks.test(rig.workspaceId, webhook.id);
    await until('it is there', () => receiver.taken.size === 1);
    const [{ body, headers }] = receiver.requests as [ReceivedRequest];
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2);
    for (const one of [old, secret]) {
      expect(() => new Verifier(one).verify(body, headers as Record<string, string>)).not.toThrow();
    }
  });

  test('nothing is sent for secrets under a key that this process does not have, until one has it', async () => {
    const id = await create(['*']);
    const elsewhere = createSealing([Buffer.alloc(32, 7)]);
    const row = () =>
      rig.db.selectFrom('webhooks').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const signing_secrets = JSON.stringify(sealSecrets(elsewhere, id, [{ secret: OTHER, validTill: null }]));
    const key_id = elsewhere.keyId;
    await rig.db.updateTable('webhooks').set({ signing_secrets, key_id }).where('id', '=', id).execute();
    const without = await rig.deliver();
    await rig.accept(3);
    await until('they wait', async () => (await rig.deliveries(id, 'pending')).length === 3);
    await expect(rig.webhooks.rotateSecret(rig.workspaceId, id)).rejects.toThrow(key_id);
    expect(await row()).toMatchObject({ key_id });
    await without.stop();
    expect((await rig.deliveries(id)).map(({ attempts }) => attempts)).toEqual([0, 0, 0]);
    expect(receiver.requests).toEqual([]);

    await rig.deliver({ sealing: elsewhere });
    await until('they are there', () => receiver.taken.size === 3);
    const [{ body, headers }] = receiver.requests as [ReceivedRequest];
    expect(() => new Verifier(OTHER).verify(body, headers as Record<string, string>)).not.toThrow();
  });

  test('secrets that were changed from outside sign nothing, and a rotation mends it', async () => {
    const [id, other] = [await create(['*']), await create([])];
    const { signing_secrets } = await rig.db
      .selectFrom('webhooks')
      .selectAll()
      .where('id', '=', other)
      .executeTakeFirstOrThrow();
    const copied = { signing_secrets: JSON.stringify(signing_secrets) };
    await rig.db.updateTable('webhooks').set(copied).where('id', '=', id).execute();
    await rig.deliver({ timing: { scale: 1e-4 } });
    await rig.webhooks.test(rig.workspaceId, id);
    await until('it failed', async () => {
      const [delivery] = await rig.deliveries(id);
      return delivery && delivery.code === 'no_secret' && delivery.attempts >= 2;
    });
    expect(receiver.requests).toEqual([]);

    const { secret } = await rig.webhooks.rotateSecret(rig.workspaceId, id);
    await until('it is there', () => receiver.taken.size === 1);
    const [{ body, headers }] = receiver.requests as [ReceivedRequest];
    expect(() => new Verifier(secret).verify(body, headers as Record<string, string>)).not.toThrow();
  });

  test('two processes deliver side by side without telling anything twice', async () => {
    await create(['message.*']);
    await rig.deliver();
    await rig.deliver();
    for (let i = 0; i < 4; i++) await rig.accept(200);
    await until('all are there', () => receiver.taken.size === 800);
    expect(receiver.requests).toHaveLength(800);
  });

  test('an attempt that another process has taken over records nothing', async () => {
    receiver.answerWith(() => 'nothing');
    const id = await create(['*']);
    const process = await rig.deliver({ timing: { answerMs: 300 } });
    await rig.webhooks.test(rig.workspaceId, id);
    await until('it is under way', () => receiver.requests.length === 1);
    await rig.db
      .updateTable('webhook_deliveries')
      .set((on) => ({ fence: on('fence', '+', 1) }))
      .where('webhook_id', '=', id)
      .execute();
    // It ends with what is under way recorded.
    await process.stop();
    expect(await rig.deliveries(id)).toEqual([expect.objectContaining({ attempts: 0, state: 'pending' })]);
  });

  test('an answer that is too long or breaks off does not change what its status says', async () => {
    receiver.answerWith((_, response) => {
      response.writeHead(200, { 'content-length': '1000000' });
      response.write('x'.repeat(40_000));
      return 'nothing';
    });
    const id = await create(['*']);
    await rig.deliver();
    await rig.webhooks.test(rig.workspaceId, id);
    const [delivery] = await until('it is recorded', async () => {
      const all = await rig.deliveries(id, 'delivered');
      return all.length === 1 && all;
    });
    expect(delivery?.answer).toHaveLength(500);
  });

  test('a private address is refused unless it is allowed', async () => {
    const id = await create(['*']);
    await rig.deliver({ allowPrivate: false });
    await rig.webhooks.test(rig.workspaceId, id);
    const [tried] = await until('it was tried', async () => {
      const all = await rig.deliveries(id);
      return all[0]?.attempts === 1 && all;
    });
    expect(tried).toMatchObject({ code: 'private_target', status: null });
    expect(receiver.requests).toEqual([]);
  });

  test('the connection is made to the address that was judged, under the name of the URL', async () => {
    const elsewhere = await startReceiver('127.0.0.2', receiver.port);
    const answers = [['127.0.0.1'], ['127.0.0.2']];
    const asked: string[] = [];
    const id = await create(['*'], `http://hooks.example:${receiver.port}/told`);
    await rig.deliver({
      async resolve(name) {
        asked.push(name);
        return answers[asked.length - 1] ?? [];
      },
    });
    await rig.webhooks.test(rig.workspaceId, id);
    await until('it is there', () => receiver.taken.size === 1);
    expect(asked).toEqual(['hooks.example']);
    expect(receiver.requests[0]?.headers.host).toBe(`hooks.example:${receiver.port}`);
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.close();
  });
});
