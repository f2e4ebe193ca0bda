/** Proves recurring campaigns over the API. */

import { sql } from 'kysely';
import { describeWithDatabase } from '../support/storage';
import { campaignsRig, IN_AN_HOUR, SMS } from './campaigns-rig';

const WEEKLY = { cron: '0 9 * * mon', timezone: 'Europe/Berlin' };
const DAY_MS = 86_400_000;

describeWithDatabase('recurring campaigns over HTTP', (database) => {
  const rig = campaignsRig(database);
  const { act, body, call, create, detail, findings, launched, newCampaign } = rig;
  const runs = async (id: string, query = '') =>
    (await call('GET', `/api/campaign/${id}/runs${query}`)).body as unknown as {
      data: {
        id: string;
        number: number;
        phase: string;
        scheduledFor: string | null;
        reason: string | null;
      }[];
      next: string | null;
    };

  test('one that is created waits for its first occurrence, and has no run', async () => {
    const id = await newCampaign({ schedule: { ...WEEKLY, misfire: 'skip' } });
    const { phase, status, schedule, nextRunAt, runId, startedAt } = await detail(id);
    expect({ phase, status, runId, startedAt }).toEqual({
      phase: 'scheduled',
      status: 'active',
      runId: null,
      startedAt: null,
    });
    expect(schedule).toEqual({ ...WEEKLY, misfire: 'skip' });
    const due = new Date(nextRunAt);
    expect(
      due.toLocaleString('en-GB', { timeZone: 'Europe/Berlin', weekday: 'short', hour: '2-digit' }),
    ).toMatch(/^Mon.* 09$/);
    expect(due.getTime() - Date.now()).toBeLessThanOrEqual(7 * DAY_MS + 3_600_000);
    expect(launched).toEqual([]);
    expect(await runs(id)).toMatchObject({ data: [], next: null });
  });

  test('its first occurrence is not before its start', async () => {
    const startAt = new Date(Date.now() + 30 * DAY_MS).toISOString();
    const id = await newCampaign({ schedule: { cron: '* * * * *', startAt } });
    const { nextRunAt } = await detail(id);
    expect(Date.parse(nextRunAt) - Date.parse(startAt)).toBeLessThan(60_000);
    expect(Date.parse(nextRunAt)).toBeGreaterThanOrEqual(Date.parse(startAt));
  });

  test.each([
    [{ cron: '* * * *' }, 'schedule.cron invalid_cron'],
    [{ cron: '0 9 * * funday' }, 'schedule.cron invalid_cron'],
    [{ cron: '0 0 30 2 *' }, 'schedule.cron never_due'],
    [{ cron: 5 }, 'schedule.cron invalid_type'],
    [{ cron: '0 9 * * *', timezone: 'Europe/Berlino' }, 'schedule.timezone invalid_timezone'],
    [{ cron: '0 9 * * *', misfire: 'ask' }, 'schedule.misfire invalid_value'],
    [{ cron: '0 9 * * *', endAt: '2020-01-01T00:00:00Z' }, 'schedule.endAt never_due'],
    [
      { cron: '0 9 * * *', startAt: '2020-01-02T00:00:00Z', endAt: '2020-01-01T00:00:00Z' },
      'schedule.endAt before_start',
    ],
    [
      // By their own clocks, nobody is due before it is over.
      {
        ...{ cron: '0 9 * * *', timezone: 'Pacific/Kiritimati', recipientLocal: true },
        endAt: new Date(Date.now() - DAY_MS).toISOString(),
      },
      'schedule.endAt never_due',
    ],
    [{ endAt: '2020-01-01T00:00:00Z' }, 'schedule.endAt never_due'],
  ])('a schedule of %p is refused: %s', async (schedule, finding) => {
    const answer = await create({ schedule });
    expect(answer.status).toBe(422);
    expect(findings(answer)).toEqual([finding]);
  });

  test('everything that is wrong with a schedule is reported at once', async () => {
    const schedule = {
      cron: '0 9 * * funday',
      startAt: '2020-01-02T00:00:00Z',
      endAt: '2020-01-01T00:00:00Z',
    };
    expect(findings(await create({ schedule }))).toEqual([
      'schedule.endAt before_start',
      'schedule.cron invalid_cron',
    ]);
  });

  test('it can be edited until an occurrence goes on, and afterwards again', async () => {
    const id = await newCampaign({ schedule: WEEKLY });
    const edit = (schedule?: object) => call('POST', '/api/campaign', body({ campaignId: id, schedule }));
    expect((await edit({ cron: '0 10 * * *' })).status).toBe(200);
    const { nextRunAt, phase } = await detail(id);
    expect([nextRunAt.slice(11, 16), phase]).toEqual(['10:00', 'scheduled']);
    await act(id, 'start');
    const refused = await edit(WEEKLY);
    expect([refused.status, refused.body.code]).toEqual([409, 'campaign_started']);
    const tried = await call('POST', '/api/campaign/dry-run', body({ campaignId: id, schedule: WEEKLY }));
    expect([tried.status, tried.body]).toMatchObject([409, { code: 'campaign_started', phase: 'scheduled' }]);
    await rig.setRun(id, 'completed');
    expect((await edit(WEEKLY)).status).toBe(200);
    expect((await runs(id)).data).toMatchObject([{ phase: 'completed', reason: null }]);

    await act(id, 'pause');
    expect((await edit({ cron: '0 11 * * *' })).body.data.phase).toBe('paused');
    expect((await edit({ startAt: IN_AN_HOUR() })).body.data.phase).toBe('paused');
    expect((await detail(id)).nextRunAt).toBeNull();
    const { rows } = await sql`select next_at from campaign_schedules where campaign_id = ${id}`.execute(
      rig.db(),
    );
    expect(rows).toEqual([{ next_at: null }]);
  });

  test('an occurrence that is started by hand begins now, and pause, resume and cancel apply to schedule and run', async () => {
    const id = await newCampaign({ schedule: WEEKLY });
    expect((await act(id, 'start')).body.data.phase).toBe('scheduled');
    expect((await act(id, 'start')).status).toBe(200);
    expect(launched).toHaveLength(1);
    expect((await detail(id)).runId).toBe(launched[0]?.runId);
    expect((await act(id, 'pause')).body.data).toMatchObject({ phase: 'paused', status: 'paused' });
    expect((await act(id, 'start')).status).toBe(409);
    expect((await act(id, 'resume')).body.data.phase).toBe('scheduled');
    await rig.setRun(id, 'completed');
    expect((await act(id, 'cancel')).body.data).toMatchObject({ phase: 'canceled', status: 'completed' });
    expect((await act(id, 'cancel')).status).toBe(200);
    expect((await act(id, 'resume')).status).toBe(409);
    expect((await call('POST', '/api/campaign', body({ campaignId: id }))).status).toBe(409);
  });

  test('a draft keeps its schedule, starts it, and is copied with it', async () => {
    const id = await newCampaign({ start: false, schedule: WEEKLY });
    expect((await detail(id)).nextRunAt).toBeNull();
    const copy = (await act(id, 'duplicate')).body.data.id;
    expect((await detail(copy)).schedule).toEqual(WEEKLY);
    expect((await act(id, 'start')).body.data.phase).toBe('scheduled');
    expect((await detail(id)).nextRunAt).not.toBeNull();
  });

  test('a dry run and warnings look at its first occurrence', async () => {
    const contactListId = [
      await rig.newList([{ phone: '+4930901820', name: 'Ann', params: { CITY: 'Bonn' } }]),
    ];
    const sms = { contactListId, channel: ['sms'], settings: { sms: SMS } };
    const nightly = { ...sms, schedule: { cron: '0 2 * * *', timezone: 'Europe/Berlin' } };
    const { data } = (await call('POST', '/api/campaign/dry-run', body(nightly))).body;
    expect(data.channels.sms).toMatchObject({ recipients: 1, earliest: '2026-06-02T00:00:00.000Z' });
    expect(data.warnings.map(({ code }: { code: string }) => code)).toContain('night');
  });

  test('with recipientLocal it begins when the first clocks on earth show its hour, and its draft keeps that', async () => {
    const schedule = { cron: '0 9 * * *', timezone: 'Europe/Berlin', recipientLocal: true };
    const id = await newCampaign({ schedule });
    const { nextRunAt, nextLocalTime } = await detail(id);
    expect([nextRunAt.slice(10, 16), nextLocalTime.slice(10)]).toEqual(['T19:00', 'T09:00']);
    expect(Date.parse(`${nextLocalTime}Z`) - Date.parse(nextRunAt)).toBe(14 * 3_600_000);
    const copy = (await act(id, 'duplicate')).body.data.id;
    expect((await detail(copy)).schedule).toEqual(schedule);
    await act(id, 'cancel');
    expect(await detail(id)).toMatchObject({ nextRunAt: null, nextLocalTime: null });
  });

  test('with recipientLocal and no timezone its end is the hour that is written, as its start is', async () => {
    const day = new Date(Date.now() + 10 * DAY_MS).toISOString().slice(0, 10);
    const hours = { startAt: `${day}T00:00:00+02:00`, endAt: `${day}T23:00:00+02:00` };
    const id = await newCampaign({ schedule: { cron: '0 22 * * *', recipientLocal: true, ...hours } });
    expect(await detail(id)).toMatchObject({
      nextLocalTime: `${day}T22:00`,
      schedule: { startAt: `${day}T00:00:00.000Z`, endAt: `${day}T23:00:00.000Z` },
    });
    const early = { ...hours, endAt: `${day}T21:30:00-05:00` };
    const none = await create({ schedule: { cron: '0 22 * * *', recipientLocal: true, ...early } });
    expect([none.status, findings(none)]).toEqual([422, ['schedule.endAt never_due']]);
  });

  test('with recipientLocal a dry run shows when the first and the last recipient are due', async () => {
    const contactListId = [
      await rig.newList([
        { phone: '+4930901820', name: 'Ann', params: { CITY: 'Bonn' } },
        { phone: '+12025550123', timezone: 'America/New_York', name: 'Bob', params: { CITY: 'Troy' } },
      ]),
    ];
    const sms = { contactListId, channel: ['sms'], settings: { sms: SMS } };
    const nightly = { ...sms, schedule: { cron: '0 2 * * *', recipientLocal: true } };
    const { data } = (await call('POST', '/api/campaign/dry-run', body(nightly))).body;
    expect(data.channels.sms).toMatchObject({ recipients: 2 });
    const due = [data.channels.sms.earliest, data.channels.sms.latest].map(Date.parse);
    // Berlin and New York in June.
    expect((due[1] ?? 0) - (due[0] ?? 0)).toBe(6 * 3_600_000);
    expect(new Date(due[0] ?? 0).toISOString()).toMatch(/T00:00:00/);
    const night = data.warnings.find(({ code }: { code: string }) => code === 'night');
    expect(night.message).toMatch(/for 2 of 2/);
  });

  test('its list cannot be deleted meanwhile', async () => {
    const own = await rig.newList([{ email: 'ann@example.com', name: 'Ann' }]);
    const id = await newCampaign({ contactListId: [own], schedule: WEEKLY });
    await act(id, 'pause');
    expect((await call('DELETE', `/api/contact-list/${own}`)).status).toBe(409);
    await act(id, 'cancel');
    expect((await call('DELETE', `/api/contact-list/${own}`)).status).toBe(200);
  });

  test('its runs are listed by page, newest first, each with recipients of its own', async () => {
    const id = await newCampaign({ schedule: WEEKLY });
    for (let i = 0; i < 3; i++) {
      await act(id, 'start');
      await rig.setRun(id, 'completed');
    }
    const first = await runs(id, '?limit=2');
    expect(first.data.map(({ number }) => number)).toEqual([3, 2]);
    const rest = await runs(id, `?limit=2&cursor=${first.next}`);
    expect([rest.data.map(({ number }) => number), rest.next]).toEqual([[1], null]);
    expect((await call('GET', `/api/campaign/${id}/runs?cursor=x`)).status).toBe(422);

    const oldest = String(rest.data[0]?.id);
    await sql`insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at)
      values (${oldest}, 'email', 0, 0, 'con_1', 'ann@example.com', '{}', now())`.execute(rig.db());
    await sql`insert into shards (run_id, channel, shard, from_seq, to_seq, next_seq)
      values (${oldest}, 'email', 0, 0, 1, 0)`.execute(rig.db());
    const recipients = `/api/campaign/${id}/recipients`;
    expect((await call('GET', recipients)).body.data).toEqual([]);
    expect((await call('GET', `${recipients}?runId=${oldest}`)).body.data).toMatchObject([
      { address: 'ann@example.com' },
    ]);
    const other = await newCampaign();
    const wrong = await call('GET', `/api/campaign/${other}/recipients?runId=${oldest}`);
    expect(wrong.status).toBe(404);
  });
});
