/** Proves contact lists and their imports. */

import { Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Kysely } from 'kysely';
import { request } from 'undici';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { LIMITS } from '../../src/domain/limits';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { type Answer, startServer, type TestServer } from './campaigns-server';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describeWithDatabase('contact lists over HTTP', (database) => {
  let db: Kysely<CampaignTables>;
  let server: TestServer;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    server = await startServer(db);
  });
  afterAll(() => server.close());

  async function newList(name = 'List', as = 'ws_a'): Promise<string> {
    return (await server.call('POST', '/api/contact-list', { name }, { as })).body.data.id;
  }
  const importCsv = (id: string, csv: unknown, query = '') =>
    server.call('POST', `/api/contact-list/${id}/contacts${query}`, csv, { type: 'text/csv' });
  const contactsOf = async (id: string) =>
    (await server.call('GET', `/api/contact-list/${id}/contacts?limit=1000`)).body.data;

  test('a list is created, shown with counts, renamed and deleted', async () => {
    const created = await server.call('POST', '/api/contact-list', { name: ' Guests ' });
    expect(created.status).toBe(201);
    const { id } = created.body.data;
    expect(id).toMatch(/^lst_/);
    await importCsv(id, 'email,phone\na@example.com,\n,+12025550123\n');

    const shown = await server.call('GET', `/api/contact-list/${id}/`);
    expect(shown.body).toMatchObject({
      result: 'success',
      status: 200,
      data: { id, name: 'Guests', counts: { contacts: 2, withEmail: 1, withPhone: 1 } },
    });
    const renamed = await server.call('PATCH', `/api/contact-list/${id}`, { name: 'Visitors' });
    expect(renamed.body.data.name).toBe('Visitors');

    expect((await server.call('DELETE', `/api/contact-list/${id}`)).status).toBe(200);
    expect((await server.call('GET', `/api/contact-list/${id}`)).status).toBe(404);
  });

  test('lists are listed by page, newest first, and searched literally', async () => {
    const names = ['50% off', '50 off', '100_off'];
    for (const name of names) await newList(name, 'ws_pages');
    const page = await server.call('GET', '/api/contact-list?page=1&limit=2', undefined, { as: 'ws_pages' });
    expect(page.body.pagination).toEqual({ page: 1, limit: 2, total: 3 });
    expect(page.body.data).toHaveLength(2);
    const found = await server.call('GET', '/api/contact-list?search=0%25', undefined, { as: 'ws_pages' });
    expect(found.body.data.map((list: { name: string }) => list.name)).toEqual(['50% off']);
    const wrong = await server.call('GET', '/api/contact-list?page=0&limit=101');
    expect(wrong.status).toBe(422);
    expect(wrong.body.errors.map((error) => error.path)).toEqual(['page', 'limit']);
  });

  test("another workspace's list does not exist, whatever is done to it", async () => {
    const id = await newList('Secret', 'ws_other');
    const { contactId } = { contactId: 'con_none' };
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PATCH', '', { name: 'Mine' }],
      ['DELETE', '', undefined],
      ['GET', '/contacts', undefined],
      ['POST', '/contacts', { contacts: [{ email: 'a@example.com' }] }],
      ['DELETE', `/contacts/${contactId}`, undefined],
    ] as const) {
      const answer = await server.call(method, `/api/contact-list/${id}${path}`, body);
      expect([method, path, answer.status]).toEqual([method, path, 404]);
    }
  });

  test('a CSV is imported with its fields in place and every other column as a param', async () => {
    const id = await newList();
    const csv = `\ufeffExternalID;NAME;e-mail notes;Email;Phone;TimeZone;locale;Café bar\r
42;"Ruiz; Ana";"says ""hi""\nand more";Ana@Example.COM;+1 (202) 555-0123;Europe/Rome;it_it;yes\r
`;
    const { status, body } = await importCsv(id, csv);
    expect(status).toBe(200);
    expect(body.data).toEqual({ received: 1, created: 1, updated: 0, unchanged: 0, rejected: 0, errors: [] });
    expect(await contactsOf(id)).toEqual([
      expect.objectContaining({
        id: expect.stringMatching(/^con_/),
        externalId: '42',
        name: 'Ruiz; Ana',
        email: 'Ana@example.com',
        phone: '+12025550123',
        timezone: 'Europe/Rome',
        locale: 'it-IT',
        params: { E_MAIL_NOTES: 'says "hi"\nand more', CAF__BAR: 'yes' },
      }),
    ]);
  });

  test('a bad row is reported by its line and stops nobody', async () => {
    const id = await newList();
    const latin1 = Buffer.from('7,f\xe9lix@example.com,,\n', 'latin1');
    const csv = Buffer.concat([
      Buffer.from('externalId,email,phone,timezone\n'),
      Buffer.from('1,one@example.com,,\n'),
      Buffer.from('2,not an address,12,Mars/Olympus\n'),
      Buffer.from('\n'),
      Buffer.from('3,,,\n'),
      Buffer.from('"4","four@example.com","+12025550104",""\n'),
      Buffer.from(`5,${'x'.repeat(70_000)}@example.com,,\n`),
      Buffer.from('6,six@example.com,,,surplus\n'),
      latin1,
      Buffer.from('8,"eight@example.com,,\n'),
      Buffer.from('9,nine@example.com\n'),
      Buffer.from('10,"ten"@example.com,,\n'),
      Buffer.from('11,eleven@example.com,,'),
    ]);
    const { body } = await importCsv(id, csv);
    const { errors, ...counts } = body.data;
    expect(counts).toEqual({ received: 11, created: 4, updated: 0, unchanged: 0, rejected: 7 });
    expect(
      errors.map((e: { line: number; field: string; code: string }) => [e.line, e.field, e.code]),
    ).toEqual([
      [3, 'email', 'invalid_email'],
      [3, 'phone', 'invalid_phone'],
      [3, 'timezone', 'invalid_timezone'],
      [5, 'email', 'no_address'],
      [7, '', 'line_too_long'],
      [8, '', 'too_many_values'],
      [9, '', 'not_utf8'],
      [10, '', 'unclosed_quote'],
      [12, '', 'invalid_quotes'],
    ]);
    expect(JSON.stringify(errors)).not.toMatch(/example|not an address|Olympus/);
    expect((await contactsOf(id)).map((c: { externalId: string }) => c.externalId)).toEqual([
      '1',
      '4',
      '9',
      '11',
    ]);
  });

  test('rows without any value, as spreadsheets save emptied ones, are no rows, and keep the numbers of lines', async () => {
    const id = await newList();
    const csv =
      '\ufeff;;\r\nName;Email;City\r\nAnn;ann@example.com;Bonn\r\n;;\r\n"";" ";\r\nBob;bad;Bonn\r\n;;\r\n';
    const { body } = await importCsv(id, csv);
    expect(body.data).toMatchObject({ received: 2, created: 1, rejected: 1 });
    expect(body.data.errors).toMatchObject([{ line: 6, code: 'invalid_email' }]);
    const none = await importCsv(id, ';;\n;;\n');
    expect([none.status, none.body.errors[0]?.code]).toEqual([422, 'not_csv']);
  });

  test('lines stay exact across quoted line breaks, and one stray quote loses one line', async () => {
    const id = await newList();
    const csv = 'email,note\na@example.com,"1\n2\n3"\nbad,\n"b@example.com,x\nc@example.com,"y"\nworse,\n';
    const { body } = await importCsv(id, csv);
    expect(body.data).toMatchObject({ received: 5, created: 2, rejected: 3 });
    expect(body.data.errors.map((e: { line: number; code: string }) => [e.line, e.code])).toEqual([
      [5, 'invalid_email'],
      [6, 'unclosed_quote'],
      [8, 'invalid_email'],
    ]);
  });

  test.each(['\n', '\r\n'])('a line has at most 64 KiB, without its end %j', async (end) => {
    const id = await newList();
    const lines = [LIMITS.csvLineBytes, LIMITS.csvLineBytes + 1].map((bytes, i) => {
      const begin = `line-${end.length}-${i}@example.com,${`${'x'.repeat(16_000)},`.repeat(4)}`;
      return begin + 'y'.repeat(bytes - begin.length);
    });
    const { body } = await importCsv(id, ['email,a,b,c,d,e', ...lines, ''].join(end));
    expect(body.data).toMatchObject({ created: 1, errors: [{ line: 3, code: 'line_too_long' }] });
  });

  test('importing again changes nothing, and what changed is counted exactly', async () => {
    const id = await newList();
    const csv = 'email,name,city\nagain1@example.com,Ann,Rome\nagain2@example.com,Bob,Oslo\n';
    await importCsv(id, csv);
    expect((await importCsv(id, csv)).body.data).toMatchObject({ created: 0, updated: 0, unchanged: 2 });
    // The address in other letters is the same contact; an empty cell says nothing.
    const later =
      'email,name,city\nagain1@example.com,,Rome\nAgain2@example.com,Bob,Bern\nagain3@example.com,Cy,\n';
    expect((await importCsv(id, later)).body.data).toMatchObject({ created: 1, updated: 1, unchanged: 1 });
    const stored = await contactsOf(id);
    expect(stored.map((c: { name: string; params: object }) => [c.name, c.params])).toEqual([
      ['Ann', { CITY: 'Rome' }],
      ['Bob', { CITY: 'Bern' }],
      ['Cy', {}],
    ]);
  });

  test('rows of one contact within a file count as if taken one by one; the later wins', async () => {
    const id = await newList();
    const rows = ['Dee', 'Dee', 'Di', 'Dee', 'Di'].map((name) => `dd@example.com,${name}`);
    const { body } = await importCsv(id, `email,name\n${rows.join('\n')}\n`);
    expect(body.data).toMatchObject({ received: 5, created: 1, updated: 3, unchanged: 1, rejected: 0 });
    expect((await contactsOf(id)).map((c: { name: string }) => c.name)).toEqual(['Di']);
  });

  test('a phone number without a country needs one from the query', async () => {
    const id = await newList();
    const without = await importCsv(id, 'phone\n(202) 555-0199\n');
    expect(without.body.data.errors).toMatchObject([{ line: 2, field: 'phone', code: 'invalid_phone' }]);
    await importCsv(id, 'phone\n(202) 555-0199\n', '?country=us');
    expect((await contactsOf(id))[0].phone).toBe('+12025550199');
    expect((await importCsv(id, 'phone\n', '?country=ZZ')).body.errors[0]?.path).toBe('country');
  });

  test.each([
    ['a spreadsheet', Buffer.from('504b030414000600080000002100b5553023', 'hex')],
    ['UTF-16 text', Buffer.from('\ufeffemail\na@example.com\n', 'utf16le')],
    ['a file of zeros', Buffer.alloc(300_000)],
    ['nothing', Buffer.from('')],
    // All of it would be the header, so that the import would be answered 200 with no row received.
    ['a file whose lines end in CR alone', Buffer.from('email,name\ra@example.com,Ann\r')],
  ])('%s is refused as no CSV', async (_, bytes) => {
    const { status, body } = await importCsv(await newList(), bytes);
    expect([status, body.code, body.errors[0]?.code]).toEqual([422, 'invalid_request', 'not_csv']);
  });

  test('a header that cannot be used is refused with every finding, and never quoted', async () => {
    const id = await newList();
    const { body } = await importCsv(id, 'ann@example.com,1st,City,city\nx,y,z,w\n');
    expect(body.errors.map((error) => [error.path, error.code])).toEqual([
      ['header.2', 'invalid_column'],
      ['header.4', 'duplicate_column'],
      ['header', 'no_address_column'],
    ]);
    expect(JSON.stringify(body)).not.toContain('ann@');
  });

  test('a long upload that is refused at its first line still gets its answer', async () => {
    const id = await newList();
    const csv = `no,addresses\n${'here,at all\n'.repeat(2_000_000)}`;
    expect((await importCsv(id, csv)).body.errors[0]?.code).toBe('no_address_column');
  });

  test('an upload that breaks off keeps the whole batches that came before', async () => {
    const id = await newList();
    const contacts = async () =>
      (await server.call('GET', `/api/contact-list/${id}`)).body.data.counts.contacts;
    async function* csv() {
      yield 'email\n';
      for (let i = 0; i < 1_200; i++) yield `cut${i}@example.com\n`;
      await until('the first batch is in', async () => (await contacts()) > 0);
      throw new Error('the client gives up');
    }
    const options = { method: 'POST', headers: { authorization: 'Bearer ws_a', 'content-type': 'text/csv' } };
    const url = `${server.url}/api/contact-list/${id}/contacts`;
    await expect(request(url, { ...options, method: 'POST', body: Readable.from(csv()) })).rejects.toThrow(
      'gives up',
    );
    expect(await contacts()).toBe(1_000);
  });

  test('JSON contacts are judged one by one', async () => {
    const id = await newList();
    const { body } = await server.call('POST', `/api/contact-list/${id}/contacts`, {
      contacts: [
        { email: 'j@example.com', params: { AGE: 7, CITY: 'Rome', EMPTY: '' } },
        { email: 'k@example.com', params: { age: 7, OK: {} }, color: 'red' },
        'l@example.com',
        { name: 5, phone: '+12025550123' },
        { name: 'half \ud83d', email: 'm@example.com' },
      ],
    });
    expect(body.data).toMatchObject({ received: 5, created: 1, rejected: 4 });
    expect(
      body.data.errors.map((e: { line: number; field: string; code: string }) => [e.line, e.field, e.code]),
    ).toEqual([
      [2, 'params.age', 'invalid_name'],
      [2, 'params.OK', 'invalid_value'],
      [2, 'color', 'unknown_field'],
      [3, '', 'not_an_object'],
      [4, 'name', 'not_a_string'],
      [5, 'name', 'invalid_characters'],
    ]);
    expect((await contactsOf(id))[0].params).toEqual({ AGE: 7, CITY: 'Rome' });
    const empty = await server.call('POST', `/api/contact-list/${id}/contacts`, { contacts: [] });
    const nothing = { received: 0, created: 0, updated: 0, unchanged: 0, rejected: 0, errors: [] };
    expect([empty.status, empty.body.data]).toEqual([200, nothing]);
    const xml = await server.call('POST', `/api/contact-list/${id}/contacts`, '<x/>', { type: 'text/xml' });
    expect(xml.status).toBe(415);
  });

  test('contacts are listed by cursor and searched in their fields', async () => {
    const id = await newList();
    const rows = Array.from({ length: 7 }, (_, i) => `p${i}@example.org,+1202555010${i}`);
    await importCsv(id, `email,phone\n${rows.join('\n')}\n`);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor ? `?limit=3&cursor=${cursor}` : '?limit=3';
      const { body } = await server.call('GET', `/api/contact-list/${id}/contacts${query}`);
      seen.push(...body.data.map((contact: { email: string }) => contact.email));
      cursor = body.next;
    } while (cursor);
    expect(seen).toEqual(rows.map((row) => row.split(',')[0]));
    expect((await server.call('GET', `/api/contact-list/${id}/contacts?cursor=x`)).status).toBe(422);
    for (const search of ['5550104', '+12025550104', '%2B12025550104']) {
      const found = await server.call('GET', `/api/contact-list/${id}/contacts?search=${search}`);
      expect(found.body.data.map((contact: { email: string }) => contact.email)).toEqual(['p4@example.org']);
    }
  });

  test('a contact taken out of its last list is gone; one in another list stays', async () => {
    const [one, two] = [await newList(), await newList()];
    await importCsv(one, 'email\nstays@example.net\ngoes@example.net\n');
    await importCsv(two, 'email\nstays@example.net\n');
    for (const { id } of await contactsOf(one)) {
      expect((await server.call('DELETE', `/api/contact-list/${one}/contacts/${id}`)).status).toBe(200);
      expect((await server.call('DELETE', `/api/contact-list/${one}/contacts/${id}`)).status).toBe(404);
    }
    expect(await contactsOf(one)).toEqual([]);
    const left = await db
      .selectFrom('contacts')
      .select('email')
      .where('email', 'like', '%@example.net')
      .execute();
    expect(left).toEqual([{ email: 'stays@example.net' }]);
    await server.call('DELETE', `/api/contact-list/${two}`);
    expect(
      await db.selectFrom('contacts').select('id').where('email', 'like', '%@example.net').execute(),
    ).toEqual([]);
  });

  test('imports of the same people at the same time count each person once', async () => {
    const [one, two] = [await newList(), await newList()];
    const emails = Array.from({ length: 1_500 }, (_, i) => `same${i}@example.com`);
    const [a, b] = await Promise.all([
      importCsv(one, `email\n${emails.join('\n')}\n`),
      importCsv(two, `email\n${emails.toReversed().join('\n')}\n`),
    ]);
    expect(a.body.data.created + b.body.data.created).toBe(1_500);
    expect(a.body.data.unchanged + b.body.data.unchanged).toBe(1_500);
  });

  test('20,000 rows are streamed in flat memory', async () => {
    const id = await newList();
    const rows = 20_000;
    const padding = 'x'.repeat(1_300);
    const retained: number[] = [];
    function* csv() {
      yield 'email,name,phone,note\n';
      for (let i = 0; i < rows; i++) {
        yield `big${i}@example.com,Person ${i},+12025550123,"${padding}"\n`;
        if (i % 4_000 === 3_999) {
          collectGarbage();
          retained.push(process.memoryUsage().heapUsed);
        }
      }
    }
    // Not through fetch, which keeps what it has sent.
    const answered = request(`${server.url}/api/contact-list/${id}/contacts`, {
      method: 'POST',
      headers: { authorization: 'Bearer ws_a', 'content-type': 'text/csv' },
      body: Readable.from(csv()),
    });
    const body = (await (await answered).body.json()) as Answer;
    expect(body.data).toMatchObject({ received: rows, created: rows, rejected: 0 });
    // The file is 28 MB; of its first and its last fifth the same little is held.
    expect(retained).toHaveLength(5);
    expect((retained.at(-1) ?? 0) - (retained[0] ?? 0)).toBeLessThan(8 * 1024 * 1024);
  }, 150_000);
});
