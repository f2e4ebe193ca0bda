/** Proves what callers get while the database is away, and that service resumes. */

import { openStorage, type Storage } from '../../src/storage/storage';
import { type Line, openLine } from '../support/line';
import { describeWithDatabase } from '../support/storage';
import { until } from '../support/until';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

describeWithDatabase('the API while its database is out of reach', (database) => {
  let line: Line;
  let storage: Storage;
  let api: WholeApi;

  beforeAll(async () => {
    const place = await database.place({ migrated: true });
    const url = new URL(place.databaseUrl);
    const port = Number(url.port);
    line = await openLine(() => port);
    url.port = String(line.port);
    storage = await openStorage({ ...place, databaseUrl: url.href, answerMs: 500 });
    api = await startWholeApi(storage);
  });
  afterAll(async () => {
    line.mend();
    await api.stop();
    await storage.close();
    line.close();
  });

  test('says so and when to come back, and works again once it is there', async () => {
    const made = await newWorkspace(api.identity);
    const headers = { authorization: await bearerFor(api.identity, made), 'x-api-key': made.apiKey };
    const list = () => api.call('GET', '/api/contact-list', { headers });
    expect((await list()).status).toBe(200);
    line.cut();
    const { status, headers: told, body } = await list();
    expect([status, body.code, told['retry-after']]).toEqual([503, 'dependency_down', '1']);
    line.mend();
    await until('the database', async () => (await list()).status === 200);
  });

  test('goes on by itself after connections on which nothing comes any more', async () => {
    const made = await newWorkspace(api.identity);
    const headers = { authorization: await bearerFor(api.identity, made), 'x-api-key': made.apiKey };
    const message = { channel: 'email', to: 'ann@example.com', from: 'us@example.com', subject: 'Hello' };
    let sent = 0;
    const send = () =>
      api.call('POST', '/send-msg', {
        headers,
        body: { ...message, body: 'Hello', uid: `uid-${sent++}` },
      });
    await until('a message is accepted', async () => (await send()).status < 300);
    line.swallow('present');
    await until('messages are accepted again', async () => (await send()).status < 300);
  });
});
