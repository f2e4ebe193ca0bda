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

interface Answered {
  status: number;
  body: { code: string; detail: string };
}

describeWithDatabase('a session that ends', (database) => {
  let api: WholeApi;
  let contacts: Answered;
  let suppressed: Answered;
  let goesOn: Answered;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    // At once, because each of them waits.
    [contacts, suppressed, goesOn] = await Promise.all([
      importContacts(logOut),
      importSuppressed(logOut),
      importContacts(async () => undefined),
    ]);
  }, 60_000);
  afterAll(() => api.stop());

  type Session = Record<string, string>;
  type Between = (session: Session) => Promise<void>;

  async function logIn(): Promise<Session> {
    const { user } = await newWorkspace(api.identity);
    const { email, password } = user;
    const login = await api.call('POST', '/api/session', { body: { email, password } });
    const [cookie] = [login.headers['set-cookie'] ?? []].flat();
    return { cookie: String(cookie).split(';')[0] as string, 'x-user-id': user.id };
  }
  async function logOut(headers: Session): Promise<void> {
    expect((await api.call('DELETE', '/api/session', { headers })).status).toBe(200);
  }

  async function importContacts(between: Between): Promise<Answered> {
    const session = await logIn();
    const list = await api.call('POST', '/api/contact-list', { headers: session, body: { name: 'Readers' } });
    const row = (at: number) => `a${at}@example.com`;
    return importMeanwhile(session, `/api/contact-list/${list.body.data.id}/contacts`, 'email', row, between);
  }
  async function importSuppressed(between: Between): Promise<Answered> {
    const row = (at: number) => `email,b${at}@example.com,manual`;
    return importMeanwhile(await logIn(), '/api/suppression', 'channel,address,reason', row, between);
  }

  async function importMeanwhile(
    session: Session,
    path: string,
    head: string,
    row: (at: number) => string,
    between: Between,
  ): Promise<Answered> {
    async function* csv() {
      yield `${head}\n`;
      for (let at = 0; at < 1_500; at++) yield `${row(at)}\n`;
      await between(session);
      await later();
      for (let at = 1_500; at < 9_000; at++) yield `${row(at)}\n`;
    }
    const answer = await request(`${api.url}${path}`, {
      method: 'POST',
      headers: { ...session, 'content-type': 'text/csv' },
      body: Readable.from(csv()),
    });
    return { status: answer.statusCode, body: (await answer.body.json()) as Answered['body'] };
  }

  test('ends an import of contacts, which says how many rows are stored', () => {
    expect([contacts.status, contacts.body.code]).toEqual([401, 'unauthenticated']);
    expect(contacts.body.detail).toMatch(
      /rows that were read 1000 were created, 0 updated, 0 unchanged and 0 refused/,
    );
  });

  test('ends an import of suppressed addresses', () => expect(suppressed.status).toBe(401));

  test('one that goes on ends nothing', () => expect(goesOn.status).toBe(200));
});

describe('an export', () => {
  let nowMs: number;
  beforeEach(() => {
    nowMs = Date.now();
    jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
  });
  afterEach(() => jest.restoreAllMocks());

  async function* pages() {
    for (let page = 0; page < 5; page++) {
      yield page;
      nowMs += LATER_MS;
    }
  }

  async function read(via: 'cookie' | 'bearer', admitted: boolean[]): Promise<number[]> {
    const asked = { caller: { via }, server: { stillAdmits: async () => admitted.shift() } };
    const given: number[] = [];
    for await (const page of whileAdmitted(asked as never, pages())) given.push(page);
    return given;
  }

  test('is cut off at the end of its session, instead of looking complete', async () => {
    const admitted = [true, false];
    await expect(read('cookie', admitted)).rejects.toThrow('The session ended');
    expect(admitted).toEqual([]);
  });

  test('of a token goes on past the end of the token', async () => {
    expect(await read('bearer', [])).toEqual([0, 1, 2, 3, 4]);
  });
});
