import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { DomainError } from '../../src/domain/errors';
import type { Access } from '../../src/http/request/access';
import { callerOf } from '../../src/http/request/caller';
import { generatorOf } from '../../src/http/request/idempotency';
import type { App } from '../../src/http/request/routing';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { keepExpiring } from '../../src/messaging/retention';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace, startService, type TestService } from './service';

const access: Access = { role: 'viewer', scopes: ['read'] };

/** What the next call of the route below does before it answers. */
let meanwhile: () => Promise<void> | void = () => undefined;
const made: string[] = [];

/** Creates a thing whose id is the generator's; a second attempt finds it there. */
function thingRoutes(app: App): void {
  app.post('/things/:kind', { config: { auth: 'app', access, idempotent: true } }, async (request, reply) => {
    const id = generatorOf(request).id('thg');
    if (!made.includes(id)) made.push(id);
    await meanwhile();
    return reply.code(201).send({ id, for: callerOf(request).workspaceId });
  });
  app.post('/plain', { config: { auth: 'app', access } }, async (request) => ({
    id: generatorOf(request).id('thg'),
  }));
}

describeWithDatabase('Idempotency-Key', (database) => {
  let db: Kysely<MessagingTables>;
  let service: TestService;
  let nowMs = Date.now();
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
    service = await startService(db, { now: () => nowMs, routes: [thingRoutes] });
  });
  beforeEach(() => {
    meanwhile = () => undefined;
    made.length = 0;
  });
  afterAll(() => service.app.close());

  const post = (key: string, body: unknown = { a: 1 }, path = '/things/x', authorization = service.bearer) =>
    service.call('POST', path, { body, headers: { authorization, 'idempotency-key': key } });

  test('the same call gets the first answer again, and says so', async () => {
    const key = randomUUID();
    const first = await post(key, { a: 1, b: { c: [1], d: 2 } });
    expect([first.status, first.headers['idempotent-replay']]).toEqual([201, undefined]);
    const again = await post(key, '{"b":{"d":2,"c":[1]},"a":1}');
    expect([again.status, again.headers['idempotent-replay']]).toEqual([201, 'true']);
    expect(again.body).toEqual(first.body);
    expect(again.headers['content-type']).toBe(first.headers['content-type']);
    expect(made).toEqual([first.body.id]);
  });

  test('without the header, or on a route that does not take it, every call is a new one', async () => {
    const headers = { authorization: service.bearer };
    const one = await service.call('POST', '/things/x', { body: {}, headers });
    const two = await service.call('POST', '/things/x', { body: {}, headers });
    expect(one.body.id).not.toBe(two.body.id);
    const key = randomUUID();
    expect((await post(key, {}, '/plain')).body.id).not.toBe((await post(key, {}, '/plain')).body.id);
  });

  test('a payload that nests deeper than a stack is taken, compared and refused as any other', async () => {
    const key = randomUUID();
    const nested = (inside: string) => `{"b":${'['.repeat(200_000)}${inside}${']'.repeat(200_000)},"a":1}`;
    const first = await post(key, nested('{"y":[1,null],"10":2,"9":{}}'));
    expect(first.status).toBe(201);
    const again = await post(key, nested(' {"9":{},"y":[1,null],"10":2}'));
    expect([again.headers['idempotent-replay'], again.body]).toEqual(['true', first.body]);
    const answer = await post(key, nested('{"y":[1,0],"10":2,"9":{}}'));
    expect([answer.status, answer.body.code]).toEqual([422, 'idempotency_key_reused']);
  });

  test('another payload under the same key is refused, in body and query', async () => {
    const key = randomUUID();
    await post(key, { a: 1 });
    for (const [body, path] of [
      [{ a: 2 }, '/things/x'],
      [{}, '/things/x'],
      [{ a: 1 }, '/things/x?b=1'],
    ] as const) {
      const answer = await post(key, body, path);
      expect([answer.status, answer.body.code]).toEqual([422, 'idempotency_key_reused']);
    }
  });

  test('a key is one of its workspace and path', async () => {
    const key = randomUUID();
    const other = await newWorkspace(service.identity);
    const answers = [
      await post(key),
      await post(key, { a: 1 }, '/things/y'),
      await post(key, { a: 1 }, '/things/x', await bearerFor(service.identity, other)),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(3);
    expect((await post(key, { a: 1 }, '/things/x/')).body).toEqual(answers[0]?.body);
  });

  test('a key is one of the user who logged in', async () => {
    const key = randomUUID();
    const { email, password } = service.workspace.user;
    const { token } = await service.identity.login({ email, password, address: 'tests' });
    const headers = { cookie: `session_token=${token}`, 'idempotency-key': key };
    const byCookie = await service.call('POST', '/things/x', { body: { a: 1 }, headers });
    expect((await post(key)).body.id).not.toBe(byCookie.body.id);
  });

  test('while the first call runs, a second one is asked to wait', async () => {
    const key = randomUUID();
    let goOn: () => void = () => undefined;
    const held = new Promise<void>((done) => {
      goOn = done;
    });
    const reached = new Promise<void>((done) => {
      meanwhile = () => {
        done();
        return held;
      };
    });
    const first = post(key);
    await reached;
    const second = await post(key);
    expect([second.status, second.body.code]).toEqual([409, 'idempotency_in_progress']);
    expect(second.headers['retry-after']).toBe('1');
    expect((await post(key, { other: true })).body.code).toBe('idempotency_key_reused');
    goOn();
    expect((await post(key)).body).toEqual((await first).body);
  });

  test('of many at once one does the work', async () => {
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(key)));
    const told = answers.filter(({ status }) => status === 201);
    expect(new Set(told.map(({ body }) => body.id))).toEqual(new Set(made));
    expect(made).toHaveLength(1);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
  });

  test('a call that died half-way is done again after a minute, and makes the same thing', async () => {
    const key = randomUUID();
    let isDead: () => void = () => undefined;
    const died = new Promise<void>((done) => {
      isDead = done;
    });
    let release: () => void = () => undefined;
    meanwhile = () => {
      isDead();
      return new Promise((done) => {
        release = done;
      });
    };
    const first = post(key);
    await died;
    meanwhile = () => undefined;
    nowMs += 59_000;
    expect((await post(key)).status).toBe(409);
    nowMs += 1_000;
    const second = await post(key);
    expect([second.status, second.headers['idempotent-replay']]).toEqual([201, undefined]);
    expect(made).toEqual([second.body.id]);
    // It was not dead after all: what it says is no news.
    release();
    expect((await first).body).toEqual(second.body);
    expect((await post(key)).headers['idempotent-replay']).toBe('true');
  });

  test('a failure of ours is not kept: the call is done again, and makes the same thing', async () => {
    const key = randomUUID();
    for (const code of ['dependency_down', 'outbox_full'] as const) {
      meanwhile = () => {
        throw new DomainError(code, 'Not now');
      };
      expect((await post(key)).body.code).toBe(code);
    }
    meanwhile = () => {
      throw new Error('unforeseen');
    };
    expect((await post(key)).status).toBe(500);
    meanwhile = () => undefined;
    const answer = await post(key);
    expect([answer.status, made]).toEqual([201, [answer.body.id]]);
  });

  test('a call that was refused may be corrected under the same key', async () => {
    const key = randomUUID();
    meanwhile = () => {
      throw new DomainError('name_taken', 'Taken');
    };
    expect((await post(key, { name: 'a' })).status).toBe(409);
    meanwhile = () => undefined;
    expect((await post(key, { name: 'b' })).status).toBe(201);
    const invalid = randomUUID();
    expect((await post(invalid, 'not json')).status).toBe(400);
    expect((await post(invalid)).status).toBe(201);
  });

  test.each(['', 'x'.repeat(256), 'tab\there', 'umlaut-\u00fc'])('%j is no key', async (key) => {
    const answer = await post(key);
    expect([answer.status, answer.body.errors?.[0].path]).toEqual([422, 'idempotency-key']);
  });

  test.each(['1', 'x'.repeat(255), 'with spaces and "quotes"'])('%j is one', async (key) => {
    expect((await post(key, { key })).status).toBe(201);
    expect((await post(key, { key })).headers['idempotent-replay']).toBe('true');
  });

  test('an answer is kept for a day and more, and then swept away', async () => {
    const key = randomUUID();
    const first = await post(key);
    const expiry = keepExpiring({ db, log: createLog('silent'), now: () => nowMs });
    nowMs += 24 * 3_600_000;
    await expiry.sweep();
    service.bearer = await bearerFor(service.identity, service.workspace);
    expect((await post(key)).body).toEqual(first.body);
    nowMs += 2 * 3_600_000;
    await expiry.sweep();
    expiry.stop();
    expect((await post(key)).body.id).not.toBe(first.body.id);
  });

  describe('secrets that are shown once', () => {
    let cookie: string;
    beforeAll(async () => {
      const { email, password } = service.workspace.user;
      cookie = `session_token=${(await service.identity.login({ email, password, address: 'tests' })).token}`;
    });
    const admin = (key: string, path: string, body: unknown) =>
      service.call('POST', `/api/admin${path}`, { body, headers: { cookie, 'idempotency-key': key } });

    test.each([
      ['/clients', { name: 'C' }, 'secret'],
      ['/api-keys', { name: 'K' }, 'key'],
      ['/users', { email: `idem-${process.pid}@example.com` }, 'password'],
    ])(
      '%s tells them again to who knows the key, and the database does not hold them',
      async (path, body, member) => {
        const key = randomUUID();
        const first = await admin(key, path, body);
        expect(first.status).toBe(201);
        const again = await admin(key, path, body);
        expect([again.headers['idempotent-replay'], again.headers['cache-control']]).toEqual([
          'true',
          'no-store',
        ]);
        expect(again.body).toEqual(first.body);
        const kept = JSON.stringify(await db.selectFrom('idempotency_keys').selectAll().execute());
        expect(kept).not.toContain(first.body.data[member]);
        expect(kept).not.toContain(key);
      },
    );

    test('a rotation repeated is one rotation', async () => {
      const { id } = (await admin(randomUUID(), '/clients', { name: 'R' })).body.data;
      const key = randomUUID();
      const first = await admin(key, `/clients/${id}/rotate`, { overlapHours: 1 });
      expect((await admin(key, `/clients/${id}/rotate`, { overlapHours: 1 })).body).toEqual(first.body);
      const secrets = await db
        .selectFrom('api_client_secrets')
        .selectAll()
        .where('client_id', '=', id)
        .execute();
      expect(secrets).toHaveLength(2);
    });

    test('a creation that died after its commit is found again, with the very same secrets', async () => {
      const email = `died-${process.pid}@example.com`;
      for (const [path, body] of [
        ['/workspaces', { name: 'W', email }],
        ['/clients', { name: 'C' }],
        ['/api-keys', { name: 'K' }],
        ['/users', { email: `user-${email}` }],
      ] as const) {
        const key = randomUUID();
        const first = await admin(key, path, body);
        // As if the process had been killed before it kept the answer, and the minute had passed.
        await db
          .updateTable('idempotency_keys')
          .set({ answer: null, lease_until: new Date(0) })
          .where('created_at', '=', new Date(nowMs))
          .execute();
        const again = await admin(key, path, body);
        expect([path, again.status, again.headers['idempotent-replay']]).toEqual([path, 201, undefined]);
        expect(again.body).toEqual(first.body);
        nowMs += 1_000;
      }
    });
  });
});
