/** Proves the suppression list over the API. */

import { Readable } from 'node:stream';
import { request } from 'undici';
import { suppressionRoutes } from '../../src/http/suppression';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createSuppressionList } from '../../src/messaging/suppression/suppression';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace, startService, type TestService } from './service';

describeWithDatabase('/api/suppression', (database) => {
  let service: TestService;
  let bearer: string;
  beforeAll(async () => {
    const db = (await database.open()).tables<MessagingTables>();
    service = await startService(db, { routes: [suppressionRoutes(createSuppressionList({ db }))] });
  });
  // A workspace each, so that lists begin empty.
  beforeEach(async () => {
    bearer = await bearerFor(service.identity, await newWorkspace(service.identity));
  });
  afterAll(() => service.app.close());

  const call = (method: string, path: string, body?: unknown, type = 'application/json') =>
    service.call(method, path, { headers: { authorization: bearer }, body, type });
  const add = (body: unknown) => call('POST', '/api/suppression', body);
  const upload = (csv: string) => call('POST', '/api/suppression', csv, 'text/csv');
  const exported = async () => {
    const answer = await request(`${service.url}/api/suppression.csv`, {
      headers: { authorization: bearer },
    });
    return { headers: answer.headers, text: await answer.body.text() };
  };

  test('an address is added once, however it is written, and its reason can change', async () => {
    const first = await add({ channel: 'sms', address: '+1 (202) 555-0123', reason: 'asked on the phone' });
    expect(first.status).toBe(201);
    expect(first.body).toMatchObject({
      result: 'success',
      status: 201,
      data: {
        channel: 'sms',
        address: '+12025550123',
        reason: 'asked on the phone',
        scope: 'workspace',
        source: 'api',
      },
    });
    const again = await add({ channel: 'sms', address: '+12025550123', reason: 'wrote a letter' });
    expect(again.status).toBe(200);
    expect(again.body.data).toMatchObject({ id: first.body.data.id, reason: 'wrote a letter' });
    await add({
      channel: 'email',
      address: ' Ada@Example.COM ',
      reason: 'x',
      scope: 'sender:News@Example.com',
    });
    const { body } = await call('GET', '/api/suppression');
    expect(body.pagination).toEqual({ page: 1, limit: 20, total: 2 });
    expect(body.data[0]).toMatchObject({ address: 'ada@example.com', scope: 'sender:news@example.com' });
  });

  test('all problems of an entry are reported at once, and never its address', async () => {
    const answer = await add({ channel: 'sms', address: 'ada@example.com', scope: 'sender:!!', foo: 1 });
    expect(answer.status).toBe(422);
    expect(answer.body.errors.map((error: { path: string }) => error.path).sort()).toEqual([
      'address',
      'foo',
      'reason',
      'scope',
    ]);
    expect(JSON.stringify(answer.body)).not.toContain('ada@');
    expect((await add({ channel: 'fax', address: '1', reason: 'x' })).status).toBe(422);
    expect((await add({ channel: 'all', address: 'nobody', reason: 'x' })).body.errors).toMatchObject([
      { path: 'address' },
    ]);
    expect((await add({ channel: 'all', address: 'a@example.com', reason: 'x\r\ny' })).status).toBe(422);
    expect((await call('POST', '/api/suppression', 'x', 'text/plain')).status).toBe(415);
  });

  test('the list is paged, newest first, filtered by channel and searched literally', async () => {
    await upload(
      [
        'channel,address,reason',
        ...[1, 2, 3].map((i) => `sms,+1202555010${i},100% sure`),
        'all,Bob@example.com,x',
      ].join('\n'),
    );
    const page = await call('GET', '/api/suppression?page=2&limit=3');
    expect(page.body).toMatchObject({
      data: [{ address: '+12025550101' }],
      pagination: { page: 2, limit: 3, total: 4 },
    });
    const addresses = async (query: string) =>
      (await call('GET', `/api/suppression?${query}`)).body.data.map(
        (one: { address: string }) => one.address,
      );
    expect(await addresses('channel=all&search=')).toEqual(['bob@example.com']);
    expect(await addresses('search=BOB@')).toEqual(['bob@example.com']);
    expect(await addresses('search=%25')).toHaveLength(3);
    expect(await addresses('search=0102')).toEqual(['+12025550102']);
    // An unescaped plus arrives as a space.
    expect(await addresses('search=+12025550102')).toEqual(['+12025550102']);
    for (const query of ['limit=101', 'page=0', 'channel=fax']) {
      expect((await call('GET', `/api/suppression?${query}`)).status).toBe(422);
    }
  });

  test('an upload counts its changes and reports the lines that were refused', async () => {
    await add({ channel: 'sms', address: '+12025550101', reason: 'asked' });
    await add({ channel: 'sms', address: '+12025550102', reason: 'asked' });
    const answer = await upload(
      [
        '\ufeffAddress;channel;Reason;scope;who',
        '+1 202 555 0101;SMS;dnc list;;x',
        '+12025550102;sms;dnc list;workspace;x',
        '+12025550102;sms;dnc list;;x',
        '202 555 0103;sms;dnc list;;x',
        '+12025550104;sms;;;x',
        '+12025550105;voice;dnc list;sender:ACME;x',
        '',
        '"+12025550106";all;"says ""no""";;x',
        'one;two;three;four;five;six',
      ].join('\r\n'),
    );
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({
      received: 8,
      created: 1,
      updated: 2,
      unchanged: 1,
      rejected: 4,
      errors: [
        {
          line: 5,
          field: 'address',
          code: 'invalid_address',
          message: 'This must be a phone number such as +14155550123',
        },
        { line: 6, field: 'reason', code: 'required', message: 'This field is required' },
        expect.objectContaining({ line: 7, field: 'scope' }),
        expect.objectContaining({ line: 10, code: 'too_many_values' }),
      ],
    });
    const again = await upload('channel,address,reason\nall,+12025550106,"says ""no"""');
    expect(again.body.data).toMatchObject({ received: 1, unchanged: 1 });
    const [newest] = (await call('GET', '/api/suppression?search=0106')).body.data;
    expect(newest).toMatchObject({ reason: 'says "no"', source: 'csv', channel: 'all' });
  });

  test('an upload that is no such table is refused whole', async () => {
    for (const [text, code] of [
      ['', 'not_csv'],
      ['PK\u0003\u0004\u0000', 'not_csv'],
      ['%PDF-1.7\n\u0000\u0001', 'missing_column'],
      ['+12025550101\n+12025550102', 'missing_column'],
      ['channel,address,address,reason\n', 'duplicate_column'],
    ] as const) {
      const answer = await upload(text);
      expect(answer.status).toBe(422);
      expect(answer.body.errors[0]).toMatchObject({ code });
      expect(JSON.stringify(answer.body)).not.toContain('555');
    }
  });

  test('what is exported can be imported again', async () => {
    await upload(
      'channel,address,reason,scope\nsms,+12025550101,"a, ""b""",sender:Acme\nemail,a@example.com,=1+1,\n',
    );
    const { headers, text } = await exported();
    expect(headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(text.split('\r\n').map((line) => line.replace(/,[^,]*$/, ''))).toEqual([
      'channel,address,reason,scope,source',
      'sms,+12025550101,"a, ""b""",sender:acme,csv',
      'email,a@example.com,=1+1,workspace,csv',
      '',
    ]);
    expect((await upload(text)).body.data).toMatchObject({ received: 2, unchanged: 2 });
  });

  test('removing names the address in the query, and says whether another block is left', async () => {
    await add({ channel: 'sms', address: '+12025550101', reason: 'x' });
    await add({ channel: 'sms', address: '+12025550101', reason: 'x', scope: 'sender:12345' });
    await add({ channel: 'all', address: '+12025550101', reason: 'x' });
    const remove = (query: string) => call('DELETE', `/api/suppression?${query}`);
    // An unescaped plus arrives as a space.
    expect((await remove('channel=sms&address=+12025550101&scope=sender:12345')).body.data).toEqual({
      removed: 1,
      stillSuppressed: true,
    });
    expect((await remove('channel=sms&address=%2B1(202)5550101')).body.data).toMatchObject({ removed: 1 });
    expect((await remove('channel=sms&address=%2B12025550101')).status).toBe(404);
    expect((await remove('channel=all&address=%2B12025550101')).body.data).toEqual({
      removed: 1,
      stillSuppressed: false,
    });
    expect((await remove('channel=sms&address=x')).status).toBe(422);
    expect((await remove('channel=sms')).body.errors).toMatchObject([{ path: 'address', code: 'required' }]);
  });

  test('removing what is not there says what is, and never the address', async () => {
    const remove = async (query: string) => {
      const { status, body } = await call('DELETE', `/api/suppression?${query}`);
      expect([status, body.code]).toEqual([404, 'not_found']);
      return body.message;
    };
    expect(await remove('channel=all&address=ann@example.com')).toBe(
      'Nothing was lifted: this email address is not suppressed in this workspace. Search the list for a part of it, in case it was mistyped',
    );
    await add({ channel: 'sms', address: '+12025550101', reason: 'x' });
    await add({ channel: 'voice', address: '+12025550101', reason: 'x', scope: 'sender:+12025550109' });
    await add({ channel: 'voice', address: '+12025550101', reason: 'x', scope: 'sender:+12025550108' });
    expect(await remove('channel=all&address=%2B1(202)5550101')).toBe(
      'Nothing was lifted: this phone number has no suppression for channel all, but for sms (workspace), voice (sender). Name that channel to lift it',
    );
    expect(await remove('channel=sms&address=%2B12025550101&scope=sender:12345')).toBe(
      'Nothing was lifted: this phone number has no suppression for channel sms with this scope, but for sms (workspace), voice (sender). Name that channel and scope to lift it',
    );
  });

  test('another workspace sees and removes nothing of it', async () => {
    await add({ channel: 'sms', address: '+12025550101', reason: 'x' });
    bearer = await bearerFor(service.identity, await newWorkspace(service.identity));
    expect((await call('GET', '/api/suppression')).body.data).toEqual([]);
    expect((await call('DELETE', '/api/suppression?channel=sms&address=%2B12025550101')).status).toBe(404);
    expect((await exported()).text).toBe('channel,address,reason,scope,source,createdAt\r\n');
    expect((await service.call('GET', '/api/suppression')).status).toBe(401);
  });

  test('many addresses are read and written in flat memory', async () => {
    const rows = 30_000;
    const answer = await request(`${service.url}/api/suppression`, {
      method: 'POST',
      headers: { authorization: bearer, 'content-type': 'text/csv' },
      body: Readable.from(
        (function* () {
          yield 'channel,address,reason\n';
          for (let i = 0; i < rows; i++) yield `sms,+1202${5_000_000 + i},national list\n`;
        })(),
      ),
    });
    const { data } = (await answer.body.json()) as { data: Record<string, number> };
    expect(data).toMatchObject({ received: rows, created: rows, rejected: 0 });
    const before = process.memoryUsage().heapUsed;
    const download = await request(`${service.url}/api/suppression.csv`, {
      headers: { authorization: bearer },
    });
    let lines = 0;
    let heldMax = 0;
    for await (const chunk of download.body) {
      lines += String(chunk).split('\r\n').length - 1;
      heldMax = Math.max(heldMax, process.memoryUsage().heapUsed - before);
    }
    expect(lines).toBe(rows + 1);
    expect(heldMax).toBeLessThan(60_000_000);
    expect((await call('GET', '/api/suppression?limit=1')).body.pagination.total).toBe(rows);
  });
});
