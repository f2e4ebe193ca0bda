/** Proves what becomes of messages that leave in a request each, from the thread that makes these requests. */

import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Worker } from 'node:worker_threads';
import type { Gateway } from '../../src/gateway/gateway';
import { openGateway } from '../../src/gateway/http-gateway';
import { SendThread } from '../../src/gateway/send-thread';
import { reply } from '../support/reply';
import { until } from '../support/until';
import { messages } from './messages';

interface Asked {
  uid: string;
  token: string;
}

describe('messages in a request each', () => {
  const sendThread = new SendThread();
  let server: Server;
  let gateway: Gateway;
  let tokens: number;
  /** Milliseconds that a token lasts. */
  let lifetime: number | undefined;
  let asked: Asked[];
  let answer: (asked: Asked, response: ServerResponse) => void;
  let open: () => Gateway;
  /** What each request for a token waits for. */
  let beforeToken: () => Promise<unknown>;

  beforeEach(async () => {
    tokens = 0;
    lifetime = undefined;
    beforeToken = async () => undefined;
    asked = [];
    answer = (_, response) => reply(response, 202, { result: 'success' });
    server = createServer(async (request, response) => {
      const body = (await request.toArray()).join('');
      if (request.url === '/api/v1/auth/token') {
        tokens += 1;
        await beforeToken();
        const over = { expires_in: lifetime && lifetime / 1_000 };
        return reply(response, 200, {
          access_token: `t${tokens}`,
          valid_till: '2099-01-01 00:00:00',
          ...over,
        });
      }
      const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
      const one = { uid: (JSON.parse(body) as { uid: string }).uid, token };
      asked.push(one);
      answer(one, response);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const credentials = { clientId: 'cli', clientSecret: 's:cret', apiKey: 'key' };
    open = () => openGateway({ authUrl: url, sendUrl: url, appUrl: url, ...credentials, sendThread });
    gateway = open();
  });

  afterEach(async () => {
    await gateway.close();
    server.closeAllConnections();
    server.close();
  });

  test('have answers of their own, in order', async () => {
    answer = ({ uid }, response) => {
      if (uid === 'u3') reply(response, 422, { code: 'invalid_request' });
      else if (uid === 'u4') reply(response, 429, { code: 'throttled' }, { 'retry-after': '7' });
      else if (uid === 'u5') response.destroy();
      else if (uid === 'u6') reply(response, 200, { data: { state: 'suppressed' } });
      else reply(response, 202, { result: 'success' });
    };
    const answers = await gateway.send(messages(120));
    expect(answers.slice(0, 8)).toEqual([
      { kind: 'accepted' },
      { kind: 'accepted' },
      { kind: 'accepted' },
      { kind: 'rejected', code: 'invalid_request' },
      { kind: 'later', code: 'throttled', retryAfterMs: 7_000, because: 'throttled' },
      { kind: 'unknown' },
      { kind: 'suppressed' },
      { kind: 'accepted' },
    ]);
    expect(answers.slice(8).every(({ kind }) => kind === 'accepted')).toBe(true);
    expect(new Set(asked.map(({ uid }) => uid)).size).toBe(120);
  });

  test('go on with the next token when one ends, and each is accepted once', async () => {
    const accepted: string[] = [];
    answer = ({ uid, token }, response) => {
      if (token !== `t${Math.min(3, 1 + Math.floor(accepted.length / 100))}`) return reply(response, 401);
      accepted.push(uid);
      reply(response, 202);
    };
    const answers = await gateway.send(messages(400));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
    expect([accepted.length, new Set(accepted).size, tokens]).toEqual([400, 400, 3]);
  });

  test('are refused together by a service that takes no token, which is asked for few of them', async () => {
    answer = (_, response) => reply(response, 401, { code: 'unauthenticated' });
    expect(await gateway.send(messages(400))).toEqual(
      messages(400).map(() => ({ kind: 'account', code: 'unauthenticated' })),
    );
    expect(tokens).toBe(2);
    expect(asked.length).toBeLessThanOrEqual(2 * 50);
  });

  test('do not leave with a token that is over', async () => {
    lifetime = 1_500;
    const takenAt = new Map<string, number>();
    answer = ({ token }, response) => {
      const first = takenAt.get(token) ?? Date.now();
      takenAt.set(token, first);
      setTimeout(() => reply(response, Date.now() - first > 1_500 + 400 ? 401 : 202), 300);
    };
    const answers = await gateway.send(messages(500));
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['accepted']));
    expect(asked).toHaveLength(500);
    expect(tokens).toBeGreaterThan(1);
  });

  test('of a small campaign do not wait for those of a large one', async () => {
    answer = (_, response) => setTimeout(() => reply(response, 202), 100);
    const large = Promise.all([gateway.send(messages(500)), gateway.send(messages(500))]);
    await until('the large one is under way', () => asked.length >= 100);
    const small = messages(10).map((message) => ({ ...message, uid: `s${message.uid}`, campaign: 'cmp_2' }));
    await gateway.send(small);
    expect(asked.length).toBeLessThan(300);
    await large;
    expect(asked).toHaveLength(1_010);
  });

  test('are in doubt where they had left when the thread died, and later ones leave from another', async () => {
    const unanswered: ServerResponse[] = [];
    answer = ({ uid }, response) => {
      if (uid < 'u2') reply(response, 202);
      else unanswered.push(response);
    };
    const sent = gateway.send(messages(40));
    await until('all others are under way', () => unanswered.length === 28 && asked.length === 40);
    // Their answers come to this thread together, 20 ms after the first one.
    await new Promise((done) => setTimeout(done, 200));
    await (sendThread as unknown as { worker: Worker }).worker.terminate();
    const kinds = (await sent).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'accepted')).toHaveLength(12);
    expect(kinds.filter((kind) => kind === 'unknown')).toHaveLength(28);
    answer = (_, response) => reply(response, 202);
    expect(new Set((await gateway.send(messages(40))).map(({ kind }) => kind))).toEqual(
      new Set(['accepted']),
    );
  });

  test('have not left when the thread died before it began to listen', async () => {
    const sent = gateway.send(messages(40));
    const worker = await until(
      'it is started',
      () => (sendThread as unknown as { worker: Worker | undefined }).worker,
    );
    await worker.terminate();
    const kinds = (await sent).map(({ kind }) => kind);
    expect([new Set(kinds), asked]).toEqual([new Set(['later']), []]);
  });

  test('do not leave after the signal', async () => {
    answer = (_, response) => setTimeout(() => reply(response, 202), 100);
    const stop = new AbortController();
    const sent = gateway.send(messages(500), stop.signal);
    await until('some are under way', () => asked.length >= 100);
    stop.abort();
    const before = asked.length;
    const answers = await sent;
    expect(asked.length).toBeLessThanOrEqual(before + 50);
    expect(answers.filter(({ kind }) => kind === 'accepted')).toHaveLength(asked.length);
    expect(answers.at(-1)).toEqual({ kind: 'later', code: 'stopped', retryAfterMs: 0, because: 'down' });
    expect(await gateway.send(messages(2), stop.signal)).toEqual([answers.at(-1), answers.at(-1)]);
  });

  /** Under way, and waiting for its second token. */
  async function waitForToken(through: Gateway, count: number, stopped?: AbortSignal) {
    await through.send(messages(1));
    const before = tokens;
    let give: () => void = () => undefined;
    beforeToken = () => new Promise<void>((done) => (give = done));
    answer = ({ token }, response) => reply(response, token === `t${before}` ? 401 : 202);
    const sent = through.send(messages(count), stopped);
    await until('the next token is asked for', () => tokens === before + 1);
    asked = [];
    return { sent, give };
  }

  test.each([400, 1])(
    'do not leave after a signal that came while a token was asked for, %i of them',
    async (count) => {
      const stop = new AbortController();
      const { sent, give } = await waitForToken(gateway, count, stop.signal);
      stop.abort();
      give();
      const stopped = { kind: 'later', code: 'stopped', retryAfterMs: 0, because: 'down' };
      expect(await sent).toEqual(messages(count).map(() => stopped));
      expect(asked).toEqual([]);
    },
  );

  test('do not leave once their gateway is closed, and are not waited for', async () => {
    const other = open();
    const { sent, give } = await waitForToken(other, 400);
    const closed = other.close();
    give();
    expect(new Set((await sent).map(({ kind }) => kind))).toEqual(new Set(['later']));
    expect(asked).toEqual([]);
    await closed;
  });

  test('that are under way when their gateway closes have their answers, also beside another that closes', async () => {
    const [idle, busy] = [open(), open()];
    await idle.send(messages(1));
    asked = [];
    answer = (_, response) => setTimeout(() => reply(response, 202), 500);
    const sent = busy.send(messages(200));
    await until('some are under way', () => asked.length >= 40);
    await Promise.all([busy.close(), idle.close()]);
    const kinds = (await sent).map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['accepted', 'later']));
    expect(kinds.filter((kind) => kind === 'accepted')).toHaveLength(asked.length);
  });
});
