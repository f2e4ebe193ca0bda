/**
 * Proves that a person who is being erased is gone within a minute, also when the process is killed in the middle, and that
 * Temporal's database never held anything of them.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, Client as TemporalClient } from '@temporalio/client';
import { Client } from 'pg';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const MESSAGES = 4_000;
const MINUTE_MS = 60_000;
const LIMIT_MS = 240_000;
const PHONE = '+12022000001';
/** The person's number, name and address, in any spelling. */
const TRACES = ['2022000001', 'person 1', 'p1@example'];

let here: Installation;
let client: Client;

beforeAll(async () => {
  // With Temporal's own server, because its file is looked through.
  here = await Installation.start({ TEMPORAL_ADDRESS: '', FANFARE_INSECURE_LINKS: 'true' });
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

/** One campaign of each kind and a durable send, all to the person. */
async function sendInEveryWay(list: string, templateId: string): Promise<string[]> {
  const { api } = here;
  const person = { externalId: 'p1', name: 'Person 1', email: 'p1@example.com', phone: PHONE };
  const { template: mail } = await api.expect<{ template: { id: string } }>('POST', '/api/template/', {
    ...{ templateName: 'mail', channel: 'email', subject: 'For {{NAME}}', body: '<p>Dear {{NAME}}</p>' },
  });
  const settings = {
    email: { fromEmail: 'news@example.org', templateId: mail.id, version: 1 },
    sms: { shortCode: '12345', templateId, version: 1 },
  };
  const calls = await createVoiceCampaign(api, [person]);
  const inTurn = { channel: ['email', 'sms'], settings, strategy: 'fallback', fallbackAfterSeconds: 1 };
  const fallback = await createSmsCampaign(api, list, templateId, inTurn);
  const own = { recipients: [{ ...person, params: { NAME: 'Person 1' } }], contactListId: [] };
  const triggered = await createSmsCampaign(api, list, templateId, own);
  const { data: send } = await api.expect<{ data: { id: string } }>('POST', '/api/send', {
    ...{ channel: 'sms', uid: 'durable', to: PHONE, from: '12345', 'template-id': templateId },
    ...{ params: { NAME: 'Person 1' }, retry: { maxAttempts: 2, initialDelaySeconds: 1 } },
  });
  for (const id of [calls, fallback, triggered]) await untilPhase(api, id, ['completed'], MINUTE_MS);
  const sent = () => api.expect<{ data: { finishedAt: string | null } }>('GET', `/api/send/${send.id}`);
  await until('the send has ended', async () => (await sent()).data.finishedAt !== null, MINUTE_MS);
  return [calls, fallback, triggered];
}

/** Which of the person's traces are in the files of Temporal's database, and whether `known` is. */
async function expectNothingInTemporal(campaigns: string[]): Promise<void> {
  const { address, namespace } = here.credentials.temporal;
  const connection = await Connection.connect({ address });
  const kinds = new Set<string>();
  const executions = new TemporalClient({ connection, namespace }).workflow.list();
  for await (const { type } of executions) kinds.add(type);
  await connection.close();
  expect([...kinds]).toEqual(
    expect.arrayContaining(['campaignRun', 'channelShard', 'voiceCall', 'durableSend']),
  );
  const files = readdirSync(here.place.dataDir).filter((name) => name.startsWith('temporal.db'));
  const text = files
    .map((name) => readFileSync(join(here.place.dataDir, name), 'latin1').toLowerCase())
    .join('\n');
  expect(TRACES.filter((one) => text.includes(one))).toEqual([]);
  // The search has eyes: payloads are in the files as they are.
  for (const id of campaigns) {
    const { workflowId } = await campaignDetail(here.api, id);
    expect([id, text.includes(`"runid":"${workflowId.replace('campaign:', '')}`)]).toEqual([id, true]);
  }
}

/** Messages to the person, or those that are still to be sent. */
async function messagesLeft(also = 'true'): Promise<number> {
  const { rows } = await client.query<{ n: number }>(
    `select count(*)::int as n from messages where to_address = any($1) and ${also}`,
    [[PHONE, 'p1@example.com']],
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
    const campaigns = await sendInEveryWay(list, templateId);
    await expectNothingInTemporal([campaign, ...campaigns]);
    for (let sent = 0; sent < MESSAGES; sent += 1_000) {
      const messages = Array.from({ length: 1_000 }, (_, i) => ({
        ...{ uid: `m-${sent + i}`, channel: 'sms', to: PHONE, from: '12345', 'template-id': templateId },
        params: { NAME: 'Person 1' },
      }));
      await api.expect('POST', '/send-msg/bulk', { messages });
    }
    await until(
      'all were handed over',
      async () => (await messagesLeft('due_at is not null')) === 0,
      MINUTE_MS,
    );
    const all = await messagesLeft();
    expect(all).toBeGreaterThan(MESSAGES + campaigns.length);
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
    process.stdout.write(`killed with ${left} of ${all} messages left\n`);

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
    expect(states.reduce((sum, { n }) => sum + n, 0)).toBe(all);
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
