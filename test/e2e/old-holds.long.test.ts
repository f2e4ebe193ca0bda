import { readFileSync } from 'node:fs';
import { Client } from 'pg';
import { recordFile } from '../../src/providers/simulator/simulator-record';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const CONTACTS = 300;

/** Proves what becomes of the holds of campaigns that are over, and of messages that a frozen process offers after the cancel. */
describe('the hold of a campaign', () => {
  let here: Installation;
  let database: Client;
  let templateId: string;
  let listId: string;

  beforeAll(async () => {
    here = await Installation.start();
    database = new Client({ connectionString: here.place.env.DATABASE_URL });
    await database.connect();
    templateId = await createSmsTemplate(here.api);
    listId = await createList(here.api, CONTACTS);
  }, 120_000);
  afterAll(async () => {
    await database?.end();
    await here?.remove();
  });

  const slow = (more: object = {}) =>
    createSmsCampaign(here.api, listId, templateId, { delivery: { ratePerSecond: 1 }, ...more });
  const isHeld = async (id: string) =>
    (await here.api.expect<{ data: { held: boolean } }>('GET', `/holds/${id}`)).data.held;
  const stateOf = async (uid: string) =>
    (await here.api.expect<{ data: { state: string } }>('GET', `/messages/${uid}`)).data.state;
  const undelivered = async (): Promise<number> => {
    const { rows } = await database.query(
      `select count(*)::int as n from messages where class = 'marketing' and state in ('scheduled', 'accepted')`,
    );
    return rows[0].n;
  };

  interface Run {
    phase: string;
    finishedAt: string | null;
    counts: { sms?: Record<string, number> };
  }
  const runsOf = async (id: string) =>
    (await here.api.expect<{ data: Run[] }>('GET', `/api/campaign/${id}/runs`)).data;

  /** A recurring campaign of which an occurrence goes on, and the one before it has failed. */
  async function recurringOne(): Promise<string> {
    const id = await slow({ schedule: { cron: '0 0 29 2 *' } });
    const begin = async () => {
      await here.api.expect('POST', `/api/campaign/${id}/start`);
      await until('it sends', async () => (await runsOf(id))[0]?.phase === 'running', 30_000);
    };
    await begin();
    await database.query(
      `update runs set control = 'fail', reason = 'internal: x' where campaign_id = $1 and control = 'run'`,
      [id],
    );
    await until('it has failed', async () => (await runsOf(id))[0]?.phase === 'failed', 30_000);
    await begin();
    return id;
  }

  test('ends a day after its cancel, with what was offered since; that of a paused one stays', async () => {
    const canceled = await slow();
    const paused = await slow();
    const young = await slow();
    const recurring = await recurringOne();
    const going = [canceled, paused, young, recurring];
    for (const id of [canceled, paused, young]) await untilPhase(here.api, id, ['running'], 30_000);
    for (const id of [canceled, young, recurring])
      await here.api.expect('POST', `/api/campaign/${id}/cancel`);
    await here.api.expect('POST', `/api/campaign/${paused}/pause`);
    for (const id of [canceled, young]) await untilPhase(here.api, id, ['canceled'], 30_000);
    for (const id of going) {
      await until('it is held', () => isHeld(id), 30_000);
      const late = {
        channel: 'sms',
        uid: `late-${id}`,
        to: '+12025550177',
        from: '12345',
        class: 'marketing',
      };
      await here.api.expect('POST', '/send-msg', {
        ...{ ...late, 'template-id': templateId, params: { NAME: 'Ada' } },
        campaign: id,
      });
    }
    // Also some that the paused campaign had offered may wait.
    for (const id of [canceled, young]) {
      await until(
        'its run has ended',
        async () => (await campaignDetail(here.api, id)).finishedAt !== null,
        30_000,
      );
    }
    const ended = async () => (await runsOf(recurring)).every(({ finishedAt }) => finishedAt !== null);
    await until('both of its occurrences have ended', ended, 30_000);
    for (const { phase, counts } of await runsOf(recurring)) {
      expect([phase, counts.sms]).toEqual([
        'canceled',
        expect.objectContaining({ pending: 0, waiting: 0, sending: 0, accepted: 0 }),
      ]);
    }
    await here.fanfare.stop();
    // What was with the carrier is recorded when the process has ended.
    const waiting = await undelivered();
    await database.query(
      `update runs set finished_at = finished_at - interval '25 hours' where campaign_id = any($1) and finished_at is not null`,
      [[canceled, paused, recurring]],
    );
    await here.run();

    for (const id of [canceled, recurring]) {
      await until('its hold has ended', async () => !(await isHeld(id)), 60_000);
      expect(await stateOf(`late-${id}`)).toBe('canceled');
    }
    expect(await Promise.all([paused, young].map(isHeld))).toEqual([true, true]);
    expect(await Promise.all([paused, young].map((id) => stateOf(`late-${id}`)))).toEqual([
      'accepted',
      'accepted',
    ]);
    expect(waiting - (await undelivered())).toBe(2);
    expect(readFileSync(recordFile(here.recordDir, 'sms'), 'utf8')).not.toContain('late-');
    expect((await campaignDetail(here.api, canceled)).phase).toBe('canceled');
  }, 240_000);
});
