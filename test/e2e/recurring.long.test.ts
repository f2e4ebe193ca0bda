import { Client, Connection } from '@temporalio/client';
import { nextOccurrence, parseCron, withBothDays } from '../../src/domain/cron';
import { campaignScheduleId } from '../../src/domain/ids';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { startEarly } from '../support/early-start';
import { Installation } from '../support/installation';
import { freshNamespace } from '../support/namespaces';
import { until } from '../support/until';

interface Run {
  id: string;
  number: number;
  phase: string;
  scheduledFor: string | null;
  localTime: string | null;
  startedAt: string;
  reason: string | null;
  counts: Record<string, Record<string, number>>;
}

const MINUTE_MS = 60_000;

describe('a recurring campaign through the whole program', () => {
  let here: Installation;
  let connection: Connection;
  let client: Client;
  /** Those that wait for their hour are created first, and the other tests run meanwhile. */
  const waiting = { early: { id: '', startAt: 0 }, minute: { id: '', due: 0 } };

  beforeAll(async () => {
    const temporal = await freshNamespace();
    here = await Installation.start({
      FANFARE_SIMULATOR_LATENCY_MS: '20',
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
    });
    connection = await Connection.connect({ address: temporal.address });
    client = new Client({ connection, namespace: temporal.namespace });
    await Promise.all([startEarlyOne(), startAtTheMinute()]);
  }, 120_000);

  afterAll(async () => {
    await connection?.close();
    await here?.remove();
  });

  const runs = async (id: string) =>
    (await here.api.expect<{ data: Run[] }>('GET', `/api/campaign/${id}/runs`)).data;
  const start = async (prefix: string, schedule: object) =>
    createSmsCampaign(here.api, await createList(here.api, 5, prefix), await createSmsTemplate(here.api), {
      schedule,
    });
  const scheduleOf = (id: string) => client.schedule.getHandle(campaignScheduleId(id));

  async function startEarlyOne(): Promise<void> {
    const startAt = Date.now() + 20_000;
    const id = await start('early', { startAt: new Date(startAt).toISOString() });
    await startEarly(client, (await campaignDetail(here.api, id)).workflowId);
    expect((await campaignDetail(here.api, id)).phase).toBe('scheduled');
    waiting.early = { id, startAt };
  }

  async function startAtTheMinute(): Promise<void> {
    // One minute only lies between now and the end: near its turn, the next one is taken.
    await until('a minute that has time left', () => Date.now() % MINUTE_MS < 45_000, MINUTE_MS, 100);
    const due = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
    const id = await start('minute', { cron: '* * * * *', endAt: new Date(due).toISOString() });
    expect(await campaignDetail(here.api, id)).toMatchObject({
      phase: 'scheduled',
      nextRunAt: new Date(due).toISOString(),
    });
    waiting.minute = { id, due };
  }

  test('is paused, resumed, edited and canceled at Temporal too', async () => {
    const id = await start('steered', { cron: '0 9 13 * 5', timezone: 'Europe/Berlin' });
    await here.api.expect('POST', `/api/campaign/${id}/pause`);
    expect((await scheduleOf(id).describe()).state.paused).toBe(true);
    await here.api.expect('POST', `/api/campaign/${id}/resume`);
    const { state, spec, info } = await scheduleOf(id).describe();
    expect([state.paused, spec.timezone, spec.calendars]).toEqual([
      false,
      'Europe/Berlin',
      [expect.anything(), expect.anything()],
    ]);
    const { nextRunAt } = (await campaignDetail(here.api, id)) as unknown as { nextRunAt: string };
    expect(info.nextActionTimes[0]?.toISOString()).toBe(nextRunAt);
    await here.api.expect('POST', `/api/campaign/${id}/start`);
    await until('the run', async () => (await runs(id))[0]?.phase === 'completed', 60_000);
    await here.api.expect('POST', `/api/campaign/${id}/cancel`);
    await expect(scheduleOf(id).describe()).rejects.toThrow(/not found/i);
    expect((await campaignDetail(here.api, id)).phase).toBe('canceled');
  }, 150_000);

  test.each([
    ['5/20 0 * 3,July mon-Fri', 'UTC'],
    ['00 09 */10 * */3', 'Asia/Calcutta'],
    ['0 0 29 2 *', 'UTC'],
    ['0 12 * * 0-7/2', 'America/New_York'],
    ['15 6 1,15 * 5-7', 'Pacific/Auckland'],
  ])('Temporal reads %s in %s as the database does', async (cron, timezone) => {
    const startAt = '2026-11-25T00:00:00Z';
    const scheduleId = `read ${cron} ${timezone}`;
    await client.schedule.create({
      scheduleId,
      spec: { cronExpressions: withBothDays(cron), timezone, startAt: new Date(startAt) },
      action: { type: 'startWorkflow', workflowType: 'none', taskQueue: 'none' },
      state: { paused: true },
    });
    const { info } = await client.schedule.getHandle(scheduleId).describe();
    const expected: number[] = [];
    for (
      let at = Math.max(Date.now(), Date.parse(startAt) - 1);
      expected.length < info.nextActionTimes.length;
    ) {
      at = nextOccurrence(parseCron(cron), timezone, at) ?? Number.NaN;
      expected.push(at);
    }
    expect(info.nextActionTimes.map((time) => time.getTime())).toEqual(expected);
    expect(expected.length).toBeGreaterThan(3);
    await client.schedule.getHandle(scheduleId).delete();
  });

  test('begins at its hour, once, though a process with a clock ahead has started its workflow before', async () => {
    const { id, startAt } = waiting.early;
    const ended = await untilPhase(here.api, id, ['completed', 'failed', 'canceled'], 2 * MINUTE_MS);
    expect(ended.phase).toBe('completed');
    const [run, ...more] = await runs(id);
    expect(more).toEqual([]);
    expect(Date.parse(run?.startedAt ?? '')).toBeGreaterThanOrEqual(startAt);
  }, 180_000);

  test('is begun by Temporal at its minute, once, and ends with its last occurrence', async () => {
    const { id, due } = waiting.minute;
    await until(
      'its end',
      async () => (await campaignDetail(here.api, id)).phase === 'completed',
      90_000,
      200,
    );
    const [run, ...others] = await runs(id);
    expect(others).toEqual([]);
    expect(run).toMatchObject({ number: 1, scheduledFor: new Date(due).toISOString(), reason: null });
    expect(run?.counts.sms?.total).toBe(5);
    expect(Date.parse(run?.startedAt ?? '') - due).toBeLessThan(10_000);
    const occurrences: string[] = [];
    for await (const { workflowId } of client.workflow.list()) {
      if (workflowId.startsWith(`occurrence:${id}`)) occurrences.push(workflowId);
    }
    expect(occurrences).toHaveLength(1);
    expect(here.record('sms').duplicateUids).toEqual([]);
  }, 120_000);
});
