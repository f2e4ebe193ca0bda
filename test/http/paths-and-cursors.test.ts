import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace } from './service';
import { startWholeApi, type WholeApi } from './whole-api';

/** A path of its own is no id of another path, and a cursor that was lost is not the first page. */
describeWithDatabase('paths and cursors', (database) => {
  let api: WholeApi;
  let headers: Record<string, string>;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    const made = await newWorkspace(api.identity);
    headers = { authorization: await bearerFor(api.identity, made), 'x-api-key': made.apiKey };
  });
  afterAll(() => api.stop());

  test.each(['GET', 'PATCH', 'DELETE'])(
    '%s of a dry run is 405, because it takes POST only',
    async (method) => {
      const answer = await api.call(method, '/api/campaign/dry-run', { headers });
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
    },
  );

  test.each([
    '/messages',
    '/api/webhook/whk_none/deliveries',
    '/api/contact/con_none/timeline',
    '/api/contact-list/lst_none/contacts',
    '/api/campaign/cmp_none/runs',
    '/api/campaign/cmp_none/recipients',
    '/api/campaign/cmp_none/skipped',
  ])('an empty cursor of %s is refused', async (path) => {
    const { status, body } = await api.call('GET', `${path}?cursor=&limit=5`, { headers });
    expect([status, body.errors]).toEqual([
      422,
      [expect.objectContaining({ path: 'cursor', code: 'invalid_cursor' })],
    ]);
  });
});
