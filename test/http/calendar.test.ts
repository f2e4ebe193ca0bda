import { encodeCursor } from '../../src/contracts/common';
import { describeWithDatabase } from '../support/storage';
import { bearerFor, newWorkspace } from './service';
import { INBOUND_SECRET, startWholeApi, type WholeApi } from './whole-api';

/** Hours that a caller may write and no database keeps, or nobody can mean; and those at the ends of what is taken. */
const LOST = ['0000-01-01T00:00:00Z', '0001-01-01T00:00:00+14:00', '1969-12-31T23:59:59Z'];
LOST.push('9999-12-31T23:59:59-14:00');
const TAKEN = ['1970-01-01T00:00:00Z', '9999-12-31T23:59:59Z'];

describeWithDatabase('the ends of the calendar', (database) => {
  let api: WholeApi;
  let headers: Record<string, string>;
  let templateId: string;
  let listId: string;

  beforeAll(async () => {
    api = await startWholeApi(await database.open());
    const made = await newWorkspace(api.identity);
    headers = { authorization: await bearerFor(api.identity, made), 'x-api-key': made.apiKey };
    const template = { templateName: 'first', body: 'Hello', channel: 'sms' };
    templateId = (await call('POST', '/api/template', template)).body.template.id;
    listId = (await call('POST', '/api/contact-list', { name: 'first' })).body.data.id;
  });
  afterAll(() => api.stop());

  const call = (method: string, path: string, body?: unknown) =>
    api.call(method, path, { headers, ...(body === undefined ? {} : { body }) });

  const message = (more: object) => ({
    channel: 'sms',
    uid: `u-${JSON.stringify(more).replace(/\s/g, '')}`,
    to: '+12025550147',
    from: '12345',
    'template-id': templateId,
    ...more,
  });
  const campaign = (schedule: object) => ({
    name: 'C',
    channel: ['sms'],
    settings: { sms: { shortCode: '12345', templateId, version: 1 } },
    contactListId: [listId],
    start: false,
    schedule,
  });
  const local = { recipientLocal: true, timezone: 'Pacific/Kiritimati' };

  const PLACES: [string, string, (hour: string) => unknown][] = [
    ['/send-msg', 'sendAt', (sendAt) => message({ sendAt })],
    ['/send-msg', 'expiresAt', (expiresAt) => message({ expiresAt })],
    ['/api/send', 'sendAt', (sendAt) => message({ sendAt })],
    ['/api/send', 'expiresAt', (expiresAt) => message({ expiresAt })],
    ['/api/campaign', 'schedule.startAt', (startAt) => campaign({ startAt })],
    ['/api/campaign', 'schedule.startAt', (startAt) => campaign({ startAt, ...local })],
    ['/api/campaign', 'schedule.endAt', (endAt) => campaign({ endAt })],
    ['/api/campaign', 'schedule.endAt', (endAt) => campaign({ endAt, cron: '0 9 * * *', ...local })],
    ['/api/campaign/dry-run', 'schedule.startAt', (startAt) => campaign({ startAt, ...local })],
    ['/api/webhook/whk_none/redeliver', 'since', (since) => ({ since })],
    [`/inbound/http/${INBOUND_SECRET}`, 'at', (at) => ({ id: 'msg_1', type: 'delivered', at })],
  ];

  test.each(PLACES)('are no fault of the server in %s, %s', async (path, field, body) => {
    for (const hour of LOST) {
      const answer = await call('POST', path, body(hour));
      // An hour may be too far ahead as well.
      const paths = new Set(answer.body.errors?.map((finding: { path: string }) => finding.path));
      expect([hour, answer.status, ...paths]).toEqual([hour, 422, field]);
    }
    for (const hour of TAKEN) {
      const { status } = await call('POST', path, body(hour));
      expect([hour, status < 500]).toEqual([hour, true]);
    }
  });

  test.each(['dateFrom', 'dateTo'])('are days of %s, but none of a year 0', async (name) => {
    for (const [day, status] of [
      ['01/01/0000', 422],
      ['01/01/0001', 200],
      ['12/31/9999', 200],
    ]) {
      const path = `/api/campaign?page=1&limit=5&channel=sms&${name}=${day}`;
      expect([day, (await call('GET', path)).status]).toEqual([day, status]);
    }
  });

  test.each(['from', 'to'])('bound messages by %s, but for what no database keeps', async (name) => {
    for (const [time, status] of [
      ['0000-01-01', 422],
      ['0001-01-01', 200],
      ['9999-12-31T23:59:59Z', 200],
      ['9999-12-31T23:59:59-14:00', 422],
    ]) {
      expect([time, (await call('GET', `/messages?${name}=${time}`)).status]).toEqual([time, status]);
    }
  });

  test('are not in a cursor that was forged', async () => {
    await call('POST', `/api/contact-list/${listId}/contacts`, { contacts: [{ email: 'a@example.com' }] });
    const [contact] = (await call('GET', `/api/contact-list/${listId}/contacts`)).body.data;
    const cursor = encodeCursor({ at: '0000-01-01T00:00:00Z', key: 'x' });
    const { body } = await call('GET', `/api/contact/${contact.id}/timeline?cursor=${cursor}`);
    expect(body.errors).toMatchObject([{ path: 'cursor' }]);
  });
});
