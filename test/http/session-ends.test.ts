/** Proves that long imports and exports end with the session, and say what became of the rows. */

import { Readable } from 'node:stream';
import { request } from 'undici';
import { whileAdmitted } from '../../src/http/request/while-admitted';
import { describeWithDatabase } from '../support/storage';
import { newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

/** A little more than a process trusts a session that it has read. */
const LATER_MS = 4_200;
const later = () => new Promise((done) => setTimeout(done, LATER_MS));

describeWithDatabase('a session that ends', (database) => {
  let api: WholeApi;
  let headers: Record<string, string>;
  beforeAll(async () => {
    api = await startWholeApi(await database.open());
  });
  afterAll(() => api.stop());
  beforeEach(async () => {
    const { user } = await newWorkspace(api.identity);
    const { email, password } = user;
    const login = await api.call('POST', '/api/session', { body: { email, password } });
    const [cookie] = [login.headers['set-cookie'] ?? []].flat();
    headers = { cookie: String(cookie).split(';')[0] as string, 'x-user-id': user.id };
  });

  async function importMeanwhile(
    path: string,
    head: string,
    row: (at: number) => string,
    between: () => void,
  ) {
    async function* csv() {
      yield `${head}\n`;
      for (let at = 0; at < 1_500; at++) yield `${row(at)}\n`;
      await between();
      await later();
      for (let at = 1_500; at < 9_000; at++) yield `${row(at)}\n`;
    }
    const answer = await request(`${api.url}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/csv' },
      body: Readable.from(csv()),
    });
    return {
      status: answer.statusCode,
      body: (await answer.body.json()) as { code: string; detail: string },
    };
  }
  const logOut = async () => {
    expect((await api.call('DELETE', '/api/session', { headers })).status).toBe(200);
  };
  const newList = async () =>
    (await api.call('POST', '/api/contact-list', { headers, body: { name: 'Readers' } })).body.data.id;

  test('ends an import of contacts, which says how many rows are stored', async () => {
    const path = `/api/contact-list/${await newList()}/contacts`;
    const { status, body } = await importMeanwhile(path, 'email', (at) => `a${at}@example.com`, logOut);
    expect([status, body.code]).toEqual([401, 'unauthenticated']);
    expect(body.detail).toMatch(
      /rows that were read 1000 were created, 0 updated, 0 unchanged and 0 refused/,
    );
  }, 30_000);

  test('ends an import of suppressed addresses', async () => {
    const row = (at: number) => `email,b${at}@example.com,manual`;
    const { status } = await importMeanwhile('/api/suppression', 'channel,address,reason', row, logOut);
    expect(status).toBe(401);
  }, 30_000);

  test('one that goes on ends nothing', async () => {
    const path = `/api/contact-list/${await newList()}/contacts`;
    const { status } = await importMeanwhile(
      path,
      'email',
      (at) => `c${at}@example.com`,
      () => undefined,
    );
    expect(status).toBe(200);
  }, 30_000);

  test('one of a token goes on past the end of the token', async () => {
    const asked = { caller: { via: 'bearer' }, server: { stillAdmits: async () => false } };
    const given: number[] = [];
    async function* pages() {
      yield 1;
      await later();
      yield 2;
    }
    for await (const page of whileAdmitted(asked as never, pages())) given.push(page);
    expect(given).toEqual([1, 2]);
  }, 30_000);

  test('ends an export, which is cut off instead of looking complete', async () => {
    async function* pages() {
      for (let page = 0; ; page++) {
        if (page > 0) await later();
        yield page;
      }
    }
    const answers = [true, false];
    const asked = { caller: { via: 'cookie' }, server: { stillAdmits: async () => answers.shift() } };
    const given: number[] = [];
    const reading = (async () => {
      for await (const page of whileAdmitted(asked as never, pages())) given.push(page);
    })();
    await expect(reading).rejects.toThrow('The session ended');
    expect(given).toEqual([0, 1]);
  }, 30_000);
});
