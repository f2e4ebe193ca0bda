import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AUDIT_ACTIONS } from '../../src/audit/actions';
import { AUDITED_OPERATIONS } from '../../src/http/request/audited-operations';
import { ROOT } from '../support/root';
import { describeWithDatabase } from '../support/storage';
import { operationsOf } from './openapi-driver';
import { startWholeApi, type WholeApi } from './whole-api';

describeWithDatabase('the list of audited operations', (database) => {
  let api: WholeApi;
  beforeAll(async () => {
    api = await startWholeApi(await database.open());
  });
  afterAll(() => api.stop());

  test('every operation that may change something has an action, or a reason why it has none', async () => {
    const { body } = await api.call('GET', '/openapi.json');
    const changing = operationsOf(body)
      .filter(({ method }) => method !== 'GET')
      .map(({ operationId }) => operationId);
    const { because: _, ...listed } = { because: '', ...AUDITED_OPERATIONS };
    expect(Object.keys(listed).filter((id) => !changing.includes(id))).toEqual([]);
    expect(changing.filter((id) => !(id in listed))).toEqual([]);
  });
});

test('docs/audit.md tells of every action, and of no other', () => {
  const page = readFileSync(join(ROOT, 'docs/audit.md'), 'utf8');
  const told = [...page.matchAll(/^\| `([a-z-]+\.[a-z-]+)` \|/gm)].map(([, action]) => action);
  expect(told).toEqual([...AUDIT_ACTIONS]);
  expect(existsSync(join(ROOT, 'docs/audit.md'))).toBe(true);
});
