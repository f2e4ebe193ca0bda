/** Proves how hours and start times are accepted, stored and warned about. */

import { describeWithDatabase } from '../support/storage';
import { campaignsRig, SMS, VOICE } from './campaigns-rig';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const NIGHTS = { from: '21:00', to: '08:00', timezone: 'recipient' };

describeWithDatabase('hours of a campaign over HTTP', (database) => {
  const rig = campaignsRig(database);
  const { create, findings, launched, newCampaign, newList, setClock } = rig;
  const detail = async (id: string) => (await rig.call('GET', `/api/campaign/${id}`)).body.data;
  const codes = (warnings: { path: string; code: string }[]) =>
    warnings.map(({ path, code }) => `${path} ${code}`);

  test('windows, zones and a start in recipients’ own time are kept as they are given', async () => {
    const more = {
      channel: ['voice'],
      settings: { voice: VOICE },
      schedule: { startAt: '2026-12-01T09:00:00+01:00', timezone: 'Europe/Berlin', recipientLocal: true },
      delivery: { quietHours: NIGHTS },
      voice: { callWindow: { from: '09:00', to: '18:00', timezone: 'Asia/Calcutta', days: ['mon', 'fri'] } },
    };
    const { status, body } = await create({ ...more, start: false });
    expect(status).toBe(201);
    expect(await detail(body.data.id)).toMatchObject({
      ...more,
      schedule: { ...more.schedule, startAt: '2026-12-01T08:00:00.000Z' },
      settings: {},
    });
  });

  test.each([
    [{ schedule: { timezone: 'Europe/Berlino' } }, 'schedule.timezone invalid_timezone'],
    [{ schedule: { timezone: 'recipient' } }, 'schedule.timezone invalid_timezone'],
    [{ schedule: { timezone: '+02:00' } }, 'schedule.timezone invalid_timezone'],
    [{ schedule: { recipientLocal: true } }, 'schedule.startAt required'],
    [
      { delivery: { quietHours: { ...NIGHTS, timezone: 'local' } } },
      'delivery.quietHours.timezone invalid_timezone',
    ],
    [{ delivery: { quietHours: { ...NIGHTS, to: '21:00' } } }, 'delivery.quietHours.to empty_window'],
    [{ voice: { callWindow: { from: '9', to: '18:00' } } }, 'voice.callWindow.from invalid_format'],
    [
      { delivery: { quietHours: NIGHTS }, voice: { callWindow: { from: '22:00', to: '23:00' } } },
      'voice.callWindow never_open',
    ],
  ])('%j is refused', async (more, finding) => {
    expect(findings(await create(more))).toEqual([finding]);
  });

  test('hours that leave none for calls are reported beside what else is wrong', async () => {
    const never = { delivery: { quietHours: NIGHTS }, voice: { callWindow: { from: '22:00', to: '23:00' } } };
    const refused = await create({ ...never, name: '', policy: 'odd', schedule: { recipientLocal: true } });
    expect(findings(refused).sort()).toEqual([
      'name too_small',
      'schedule.startAt required',
      'voice.callWindow never_open',
    ]);
    const unclear = { ...never, schedule: { timezone: 'Europe/Berlino' } };
    expect(findings(await create(unclear))).toEqual(['schedule.timezone invalid_timezone']);
  });

  test('an hour on the wall without a zone is shown so that an edit with what is shown means the same hour', async () => {
    const day = new Date(Date.now() + 10 * DAY_MS).toISOString().slice(0, 10);
    const written = { startAt: `${day}T09:00:00+02:00`, endAt: `${day}T23:00:00+02:00` };
    const id = await newCampaign({ start: false, schedule: { ...written, recipientLocal: true } });
    const { schedule } = await detail(id);
    expect(schedule).toEqual({
      ...{ startAt: `${day}T09:00:00.000Z`, recipientLocal: true },
      endAt: `${day}T21:00:00.000Z`,
    });
    await create({ campaignId: id, schedule, start: true });
    const first = Date.parse(`${day}T09:00:00+14:00`);
    expect(launched.at(-1)).toMatchObject({ campaignId: id, startAt: new Date(first) });
  });

  test('a run in recipients’ own time begins when the first clocks on earth show the hour', async () => {
    const startAt = new Date(Math.ceil(Date.now() / DAY_MS) * DAY_MS + 2 * DAY_MS).toISOString();
    await create({ schedule: { startAt, recipientLocal: true } });
    await create({ schedule: { startAt, recipientLocal: true, timezone: 'Asia/Tokyo' } });
    expect(launched.map((run) => (run.startAt?.getTime() ?? 0) - Date.parse(startAt))).toEqual([
      -14 * HOUR_MS,
      -5 * HOUR_MS,
    ]);
  });

  test('a draft whose hour is over in the east only starts now, and keeps the hour for the others', async () => {
    const startAt = new Date(Date.now() + 5 * HOUR_MS).toISOString();
    const schedule = { startAt, recipientLocal: true, timezone: 'UTC' };
    const { id } = (await create({ schedule, start: false })).body.data;
    await rig.call('POST', `/api/campaign/${id}/start`);
    expect(launched).toMatchObject([{ campaignId: id, startAt: undefined }]);
    expect((await detail(id)).schedule.startAt).toBe(startAt);
  });

  describe('warnings', () => {
    // It is four in the morning in New York and ten in Berlin.
    beforeEach(() => setClock('2026-06-01T08:00:00Z'));

    async function sms(more: object = {}) {
      const contactListId = await newList([
        { phone: '+12025550101', name: 'A' },
        { phone: '+12025550102', name: 'B', timezone: 'Europe/Berlin' },
        { phone: '+493023125003', name: 'C' },
      ]);
      return { channel: ['sms'], settings: { sms: SMS }, contactListId: [contactListId], ...more };
    }
    const dryRun = async (more: object) =>
      (await rig.call('POST', '/api/campaign/dry-run', rig.body(more))).body.data;

    test('tell for how many it is night', async () => {
      const body = await sms();
      const expected = [{ path: 'settings.sms', code: 'night', severity: 'warning' }];
      const created = (await create(body)).body.data.warnings;
      expect(created).toMatchObject(expected);
      expect(created[0].message).toContain('It is night (21:00-08:00) for 1 of 3 contacts');
      const tried = await dryRun(body);
      expect(tried.warnings).toMatchObject(expected);
      expect(tried.warnings[0].message).toContain('It is night (21:00-08:00) for 1 of 3 recipients');
      expect(tried.channels.sms).toMatchObject({
        earliest: '2026-06-01T08:00:00.000Z',
        latest: '2026-06-01T08:00:00.000Z',
      });
    });

    test('count a contact once, however many of the lists have it', async () => {
      const { contactListId } = await sms();
      const again = await newList([
        { phone: '+12025550101', name: 'A' },
        { phone: '+12025550102', name: 'B' },
      ]);
      const body = { channel: ['sms'], settings: { sms: SMS }, contactListId: [...contactListId, again] };
      const [night] = (await create(body)).body.data.warnings;
      expect(night.message).toContain('for 1 of 3 contacts');
    });

    test('are not needed with quiet hours, which put the last start off', async () => {
      const body = await sms({ delivery: { quietHours: NIGHTS } });
      expect((await create(body)).body.data.warnings).toEqual([]);
      const { channels, warnings } = await dryRun(body);
      expect(warnings).toEqual([]);
      expect(channels.sms).toMatchObject({
        earliest: '2026-06-01T08:00:00.000Z',
        latest: '2026-06-01T12:00:00.000Z',
      });
    });

    test('do not warn about the night for recipients without a known time zone', async () => {
      setClock('2026-06-01T23:00:00Z');
      const contactListId = [await newList([{ email: 'a@example.com', name: 'A', params: { CITY: 'X' } }])];
      expect((await create({ contactListId })).body.data.warnings).toEqual([]);
      const known = { contactListId, schedule: { timezone: 'Europe/Berlin' } };
      expect(codes((await create(known)).body.data.warnings)).toEqual(['settings.email night']);
    });

    test('tell for how many the hour is over in their own time', async () => {
      const schedule = { startAt: '2026-06-01T09:00:00Z', timezone: 'UTC', recipientLocal: true };
      const { channels, warnings } = await dryRun(await sms({ schedule }));
      expect(codes(warnings)).toEqual(['settings.sms local_start_in_past']);
      expect(warnings[0].message).toContain('for 2 of 3 recipients');
      expect(channels.sms).toMatchObject({
        earliest: '2026-06-01T08:00:00.000Z',
        latest: '2026-06-01T13:00:00.000Z',
      });
    });

    test('and forecasts have no hour without recipients', async () => {
      const contactListId = [await newList([{ email: 'a@example.com' }])];
      expect((await dryRun(await sms({ contactListId }))).channels.sms).toMatchObject({
        recipients: 0,
        earliest: null,
        latest: null,
      });
    });
  });
});
