/** Proves that a person who is being erased is gone within a minute, also when the process is killed in the middle. */

import { Client } from 'pg';
import { createList, createSmsCampaign, createSmsTemplate, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const MESSAGES = 4_000;
const MINUTE_MS = 60_000;
const LIMIT_MS = 240_000;
const PHONE = '+12022000001';
/** The person's number, name and address, in any spelling. */
const TRACES = ['2022000001', 'person 1', 'p1@example'];

let here: Installation;
let client: Client;

beforeAll(async () => {
  here = await Installation.start();
  client = new Client({ connectionString: here.place.env.DATABASE_URL });
  await client.connect();
}, LIMIT_MS);
afterAll(async () => {
  await client?.end();
  await here?.remove();
});

/** Every table and column that has one of the texts, with how often. */
async function traces(): Promise<string[]> {
  const { rows: columns } = await client.query<{ table: string; column: string }>(`
    select c.table_name as table, c.column_name as column from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
      and c.data_type in ('text', 'json', 'jsonb', 'character varying', 'ARRAY')`);
  const found: string[] = [];
  for (const { table, column } of columns) {
    const { rows } = await client.query<{ n: number }>(
      `select count(*)::int as n from "${table}" where lower("${column}"::text) like any($1)`,
      [TRACES.map((one) => `%${one}%`)],
    );
    if (rows[0]?.n) found.push(`${table}.${column}: ${rows[0].n}`);
  }
  return found;
}

async function messagesLeft(): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    'select count(*)::int as n from messages where to_address = $1',
    [PHONE],
  );
  return rows[0]?.n ?? 0;
}

test(
  'a person is in no table a minute after the erasure, through a kill in the middle of it',
  async () => {
    const { api } = here;
    const list = await createList(api, 2);
    const templateId = await createSmsTemplate(api);
    const campaign = await createSmsCampaign(api, list, templateId);
    await untilPhase(api, campaign, ['completed'], MINUTE_MS);
    for (let sent = 0; sent < MESSAGES; sent += 1_000) {
      const messages = Array.from({ length: 1_000 }, (_, i) => ({
        ...{ uid: `m-${sent + i}`, channel: 'sms', to: PHONE, from: '12345', 'template-id': templateId },
        params: { NAME: 'Person 1' },
      }));
      await api.expect('POST', '/send-msg/bulk', { messages });
    }
    const ended = async () => {
      const { rows } = await client.query<{ n: number }>(
        `select count(*)::int as n from messages where to_address = $1 and due_at is null`,
        [PHONE],
      );
      return (rows[0]?.n ?? 0) > MESSAGES;
    };
    await until('all were handed over', ended, MINUTE_MS);
    expect((await traces()).length).toBeGreaterThan(3);

    const { data } = await api.expect<{ data: { id: string }[] }>(
      'GET',
      `/api/contact?search=${encodeURIComponent(PHONE)}`,
    );
    const { status } = await api.call('DELETE', `/api/contact/${data[0]?.id}?erase=true`);
    expect(status).toBe(202);
    await until('it is in the middle', async () => (await messagesLeft()) < MESSAGES - 500, MINUTE_MS, 5);
    await here.fanfare.killGroup();
    const left = await messagesLeft();
    expect(left).toBeGreaterThan(0);
    process.stdout.write(`killed with ${left} of ${MESSAGES + 1} messages left\n`);

    await here.run();
    const restartedAt = Date.now();
    await until('nothing is left', async () => (await traces()).length === 0, MINUTE_MS, 500);
    process.stdout.write(`gone ${((Date.now() - restartedAt) / 1_000).toFixed(1)} s after the restart\n`);
    const { rows: open } = await client.query(
      'select count(*)::int as open from erasures where done_at is null',
    );
    expect(open).toEqual([{ open: 0 }]);
    // Counts and states stay, and an import does not bring the person back.
    const { rows: states } = await client.query(
      'select state, count(*)::int as n from messages where to_address is null group by state',
    );
    expect(states.reduce((sum, { n }) => sum + n, 0)).toBe(MESSAGES + 1);
    const { data: imported } = await here.api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: 'once more',
    });
    const csv = `externalId,name,email,phone\nback,Person 1,p1@example.com,${PHONE}`;
    await here.api.expect('POST', `/api/contact-list/${imported.id}/contacts`, csv, 'text/csv');
    const second = await createSmsCampaign(here.api, imported.id, templateId);
    await untilPhase(here.api, second, ['completed'], MINUTE_MS);
    const { rows: sentTo } = await client.query(
      'select count(*)::int as n from messages where to_address = $1',
      [PHONE],
    );
    expect(sentTo).toEqual([{ n: 0 }]);
  },
  LIMIT_MS,
);
