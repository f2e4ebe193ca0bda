/** Proves the limits of single senders over the API. */

import { senderLimitRoutes } from '../../src/http/sender-limits';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { createSenderLimitList } from '../../src/messaging/senders/sender-limit-list';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace, startService, type TestService } from './service';

describeWithDatabase('/api/sender-limit', (database) => {
  let service: TestService;
  let bearer: string;
  let changes = 0;
  beforeAll(async () => {
    const db = (await database.open()).tables<MessagingTables>();
    const limits = createSenderLimitList({
      db,
      onChanged: async () => {
        changes += 1;
      },
    });
    service = await startService(db, { routes: [senderLimitRoutes(limits)] });
  });
  beforeEach(async () => {
    bearer = await bearerFor(service.identity, await newWorkspace(service.identity));
  });
  afterAll(() => service.app.close());

  const call = (method: string, query = '', body?: unknown) =>
    service.call(method, `/api/sender-limit${query}`, { headers: { authorization: bearer }, body });

  test('a limit is set, replaced, listed and removed', async () => {
    const before = changes;
    const set = await call('PUT', '', { channel: 'sms', sender: '+1 202-555-0100', rate: 10, burst: 30 });
    expect(set).toMatchObject({
      status: 200,
      body: {
        result: 'success',
        data: { channel: 'sms', sender: '+12025550100', rate: 10, burst: 30, concurrentCalls: null },
      },
    });
    await call('PUT', '', { channel: 'sms', sender: '+12025550100', rate: 0.5 });
    await call('PUT', '', { channel: 'voice', sender: '+12025550100', concurrentCalls: 3 });
    await call('PUT', '', { channel: 'email', sender: '"News" <News@Example.com>' });
    const { body } = await call('GET', '?limit=2');
    expect(body).toMatchObject({
      data: [
        { sender: 'news@example.com', rate: null },
        { channel: 'sms', rate: 0.5, burst: null },
      ],
      pagination: { page: 1, limit: 2, total: 3 },
    });
    expect((await call('GET', '?channel=voice')).body.pagination.total).toBe(1);
    expect((await call('DELETE', '?channel=sms&sender=+12025550100')).status).toBe(200);
    expect((await call('DELETE', '?channel=sms&sender=%2B12025550100')).status).toBe(404);
    expect(changes - before).toBe(5);
  });

  test('all problems of a limit are reported at once', async () => {
    const paths = async (body: unknown) => {
      const answer = await call('PUT', '', body);
      expect(answer.status).toBe(422);
      return answer.body.errors.map((error: { path: string }) => error.path).sort();
    };
    const wrong = { channel: 'email', sender: 'x', rate: 0, concurrentCalls: 2, burst: 1.5, more: 1 };
    expect(await paths(wrong)).toEqual(['burst', 'concurrentCalls', 'more', 'rate', 'sender']);
    expect(await paths({ channel: 'sms', sender: '12345', burst: 5 })).toEqual(['burst']);
    expect(await paths({})).toEqual(['channel', 'sender']);
  });

  test('another workspace sees and removes nothing of it', async () => {
    await call('PUT', '', { channel: 'sms', sender: '12345', rate: 10 });
    bearer = await bearerFor(service.identity, await newWorkspace(service.identity));
    expect((await call('GET')).body.data).toEqual([]);
    expect((await call('DELETE', '?channel=sms&sender=12345')).status).toBe(404);
    expect((await service.call('GET', '/api/sender-limit')).status).toBe(401);
  });
});
