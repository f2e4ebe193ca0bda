/** Proves when requests of carriers leave the thread that makes them, and what becomes of them when it ends. */
import { spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { LIMITS } from '../../src/domain/limits';
import { type CarrierPool, carrierThread } from '../../src/providers/carrier-thread';
import { until } from '../support/until';

describe('requests of carriers', () => {
  let asked: string[];
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let origin: string;
  let pool: CarrierPool;
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    answer(request, response);
  });
  const thread = () => (carrierThread as unknown as { worker: Worker | undefined }).worker;
  const ask = (path: string, mayBegin = () => true) => pool.ask({ method: 'GET', path }, mayBegin);

  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    asked = [];
    answer = (request, response) => response.end(request.url);
    pool = carrierThread.openPool({ origin, connections: 2, answerMs: 10_000, answerBytes: 1_000 });
  });
  afterEach(async () => {
    await thread()?.terminate();
    server.closeAllConnections();
    await pool.close();
  });
  afterAll(() => {
    server.close();
  });

  test('are answered, each by its own', async () => {
    const paths = Array.from({ length: 50 }, (_, i) => `/${i}`);
    const answers = await Promise.all(paths.map((path) => ask(path)));
    expect(answers).toEqual(paths.map((text) => ({ status: 200, retryAfter: undefined, text })));
  });

  test('that wait for a connection are asked again whether they may begin, and stay when they may not', async () => {
    const open: ServerResponse[] = [];
    answer = (_, response) => void open.push(response);
    const first = [ask('/1'), ask('/2')];
    await until('both connections are taken', () => open.length === 2);
    let mayBegin = true;
    let times = 0;
    const waiting = [3, 4].map((n) =>
      ask(`/${n}`, () => {
        times += 1;
        return n === 3 || mayBegin;
      }),
    );
    // A request whose turn comes late goes back to the thread that knows.
    await new Promise((done) => setTimeout(done, 2 * LIMITS.carrierBeginMs));
    expect(times).toBe(2);
    mayBegin = false;
    answer = (request, response) => response.end(request.url);
    for (const response of open) response.end();
    expect(await Promise.all(waiting)).toMatchObject([{ text: '/3' }, { offered: false, stayed: true }]);
    expect(asked).toEqual(['/1', '/2', '/3']);
    expect(times).toBe(4);
    await Promise.all(first);
  });

  test('that had left when the thread died have no answer, and later ones leave from another', async () => {
    answer = (request, response) => {
      if (request.url === '/taken') response.end();
    };
    await ask('/taken');
    const lost = ask('/lost');
    await until('it is under way', () => asked.length === 2);
    await thread()?.terminate();
    expect(await lost).toEqual({
      ...{ code: 'thread_lost', offered: true, stayed: false },
      fault: { name: 'Error', at: expect.stringContaining('carrier-thread') },
    });
    expect(await ask('/taken')).toMatchObject({ status: 200 });
  });

  test('are not in doubt when the thread died before it began to listen', async () => {
    const paths = ['/1', '/2'];
    const lost = paths.map((path) => ask(path));
    await until('the thread is started', () => thread());
    await thread()?.terminate();
    expect(await Promise.all(lost)).toMatchObject(paths.map(() => ({ code: 'thread_lost', offered: false })));
    expect(asked).toEqual([]);
    expect(await ask('/3')).toMatchObject({ text: '/3' });
  });

  test('leave no more once the pool has closed, and the thread ends when none is open', async () => {
    await ask('/1');
    const last = thread();
    const ended = new Promise((done) => last?.on('exit', done));
    const closing = pool.close();
    expect(await ask('/2')).toMatchObject({ offered: false, stayed: false });
    await closing;
    expect(await ask('/3')).toMatchObject({ code: 'UND_ERR_CLOSED', offered: false });
    expect(asked).toEqual(['/1']);
    await ended;
    expect(thread()).toBeUndefined();
  });

  test('keep a program from its end until they are answered, and no longer', async () => {
    answer = (_, response) => setTimeout(() => response.end(), 500);
    const program = spawn(
      process.execPath,
      ['--require', 'tsx/cjs', join(__dirname, 'carrier-thread-child.ts'), origin],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let output = '';
    program.stdout.on('data', (text) => {
      output += text;
    });
    expect(await new Promise((ended) => program.on('exit', ended))).toBe(0);
    expect(output).toBe('200\n');
  });
});
