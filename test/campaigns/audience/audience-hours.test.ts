/** Proves that recipients become due at the hours that their own time zones and the rules allow. */

import { type Kysely, sql } from 'kysely';
import { freezeAudience } from '../../../src/campaigns/audience/audience';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import type { Channel } from '../../../src/domain/channel';
import { phonePrefix, phoneZones } from '../../../src/domain/time-zones/phone-zones';
import { type HourOptions, startFor } from '../../../src/domain/time-zones/recipient-hours';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

const HOUR_MS = 3_600_000;
const NINE_IN_BERLIN = {
  startAt: '2031-12-01T09:00:00+01:00',
  timezone: 'Europe/Berlin',
  recipientLocal: true,
};

describeWithDatabase('an audience at hours of its own', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  interface Contact {
    timezone?: string;
    phone?: string | null;
  }

  /** Plants these contacts, in their order, and answers how to freeze them. */
  async function plant(contacts: Contact[], channel: Channel = 'email') {
    const planted = await plantRun(db, { contacts: contacts.length, channel });
    for (const [i, { timezone = null, phone = null }] of contacts.entries()) {
      const id = `${planted.listId}-${String(i + 1).padStart(7, '0')}`;
      await sql`update contacts set timezone = ${timezone}, phone = ${phone} where id = ${id}`.execute(db);
    }
    const { runId, workspaceId, listId } = planted;
    const audience = {
      runId,
      workspaceId,
      channel,
      contactListIds: [listId],
      placeholders: [],
      campaignParams: {},
    };
    const read = async () => {
      const { rows } = await sql<{ contact: number; place: string | null; due_at: Date; is_due: boolean }>`
        select right(contact_id, 7)::int as contact, place, due_at, due_at <= now() as is_due
        from recipients where run_id = ${runId} order by seq`.execute(db);
      return rows;
    };
    const freeze = async (hours: HourOptions) => {
      await freezeAudience(db, { ...audience, hours });
      return read();
    };
    return { freeze };
  }

  const dues = (rows: { contact: number; due_at: Date }[]) =>
    rows.map(({ contact, due_at }) => `${contact} ${due_at.toISOString().slice(0, 16)}`);

  test('is due when each recipient’s own clocks show the hour, and is numbered in that order', async () => {
    const { freeze } = await plant([
      { timezone: 'America/New_York' },
      { timezone: 'Europe/Berlin' },
      { timezone: 'Asia/Calcutta' },
      { timezone: 'Europe/Rome' },
    ]);
    expect(dues(await freeze({ schedule: NINE_IN_BERLIN }))).toEqual([
      '3 2031-12-01T03:30',
      '2 2031-12-01T08:00',
      '4 2031-12-01T08:00',
      '1 2031-12-01T14:00',
    ]);
  });

  test('is due at the hour of an occurrence, each by their own clocks, and in the schedule’s zone without any', async () => {
    const { freeze } = await plant([
      { timezone: 'America/New_York' },
      { timezone: 'Europe/Berlin' },
      {},
      { timezone: 'Pacific/Kiritimati' },
    ]);
    // The day on which New York's clocks are put back, and Berlin's were already.
    const schedule = { cron: '30 1 * * *', timezone: 'Asia/Tokyo', recipientLocal: true };
    expect(dues(await freeze({ schedule, localTime: '2031-11-02T01:30' }))).toEqual([
      '4 2031-11-01T11:30',
      '3 2031-11-01T16:30',
      '2 2031-11-02T00:30',
      '1 2031-11-02T05:30',
    ]);
  });

  test('takes a start without a zone as it is written', async () => {
    const { freeze } = await plant([{ timezone: 'Asia/Tokyo' }]);
    const schedule = { startAt: '2031-12-01T09:00:00+05:30', recipientLocal: true };
    expect(dues(await freeze({ schedule }))).toEqual(['1 2031-12-01T00:00']);
  });

  test('goes by the stated zone, else the phone number, else the campaign’s zone', async () => {
    const { freeze } = await plant([
      { timezone: 'Asia/Tokyo', phone: '+12025550101' },
      { phone: '+12025550102' },
      { phone: '+493023125003' },
      {},
      { timezone: 'Mars/Olympus', phone: '+12025550105' },
      { timezone: 'Mars/Olympus' },
    ]);
    const rows = await freeze({ schedule: NINE_IN_BERLIN });
    expect(rows.map(({ contact, place }) => [contact, place])).toEqual([
      [1, 'Asia/Tokyo'],
      [3, '+49'],
      [4, 'Europe/Berlin'],
      [6, 'Europe/Berlin'],
      [2, '+1202'],
      [5, '+1202'],
    ]);
  });

  test('knows in SQL the same beginning of every number as outside of it', async () => {
    const prefixes = [...phoneZones().keys()].filter((_, i) => i % 7 === 0);
    const contacts = prefixes.map((prefix) => ({ phone: `+${prefix}55501009`.slice(0, 15) }));
    const { freeze } = await plant(contacts);
    const rows = await freeze({ schedule: NINE_IN_BERLIN });
    const places = new Map(rows.map(({ contact, place }) => [contact, place]));
    for (const [i, { phone }] of contacts.entries()) {
      expect([phone, places.get(i + 1)]).toEqual([phone, phonePrefix(phone)]);
    }
    expect(rows.map(({ due_at }) => due_at.getTime())).toEqual(
      rows.map(({ place }) => startFor(place, { schedule: NINE_IN_BERLIN })),
    );
  });

  test('waits for the last of the zones in which a number may be', async () => {
    // Idaho has two hours; it is nine there when it is nine in the west of it.
    const { freeze } = await plant([{ phone: '+12085550101' }], 'sms');
    expect(dues(await freeze({ schedule: NINE_IN_BERLIN }))).toEqual(['1 2031-12-01T17:00']);
  });

  test('is due at once where the hour is over', async () => {
    const { freeze } = await plant([{ timezone: 'America/New_York' }, { timezone: 'Asia/Tokyo' }]);
    const startAt = new Date().toISOString();
    const rows = await freeze({ schedule: { startAt, timezone: 'UTC', recipientLocal: true } });
    expect(rows.map(({ contact, is_due }) => [contact, is_due])).toEqual([
      [2, true],
      [1, false],
    ]);
  });

  test('is not due in quiet hours, by its own clocks or by a zone’s', async () => {
    const night = { from: '21:00', to: '10:00' };
    const contacts = [{ timezone: 'Europe/Berlin' }, { timezone: 'Asia/Tokyo' }];
    const own = await plant(contacts);
    expect(dues(await own.freeze({ schedule: NINE_IN_BERLIN, delivery: { quietHours: night } }))).toEqual([
      '2 2031-12-01T01:00',
      '1 2031-12-01T09:00',
    ]);
    const fixed = await plant(contacts);
    const now = Date.now();
    const clock = (ms: number) => new Date(now + ms).toISOString().slice(11, 16);
    const around = { from: clock(-2 * HOUR_MS), to: clock(2 * HOUR_MS), timezone: 'UTC' };
    const rows = await fixed.freeze({ delivery: { quietHours: around } });
    for (const { place, due_at } of rows) {
      expect(place).toBeNull();
      expect(due_at.getTime() - now).toBeGreaterThan(2 * HOUR_MS - 120_000);
      expect(due_at.getTime() - now).toBeLessThanOrEqual(2 * HOUR_MS);
    }
  });

  test('is due at the end of the campaign where its hour would come later, so that it ends then', async () => {
    const { freeze } = await plant([{ timezone: 'Europe/Berlin' }, { timezone: 'America/New_York' }]);
    const schedule = { ...NINE_IN_BERLIN, endAt: '2031-12-01T12:00:00Z' };
    expect(dues(await freeze({ schedule }))).toEqual(['1 2031-12-01T08:00', '2 2031-12-01T12:00']);
    const recurring = await plant([{ timezone: 'America/New_York' }]);
    const hours = { schedule: { ...schedule, cron: '0 9 * * *' }, localTime: '2031-12-01T09:00' };
    expect(dues(await recurring.freeze(hours))).toEqual(['1 2031-12-01T14:00']);
  });

  test('heeds call windows on the voice channel only', async () => {
    const voice = { callWindow: { from: '10:00', to: '11:00' } };
    const contacts = [{ timezone: 'Europe/Berlin', phone: '+493023125001' }];
    const called = await plant(contacts, 'voice');
    expect(dues(await called.freeze({ schedule: NINE_IN_BERLIN, voice }))).toEqual(['1 2031-12-01T09:00']);
    const texted = await plant(contacts, 'sms');
    expect(dues(await texted.freeze({ schedule: NINE_IN_BERLIN, voice }))).toEqual(['1 2031-12-01T08:00']);
  });

  test('changes nothing when it is frozen again', async () => {
    const { freeze } = await plant([{ timezone: 'America/New_York' }, { timezone: 'Asia/Tokyo' }]);
    const before = await freeze({ schedule: NINE_IN_BERLIN });
    expect(await freeze({ schedule: { ...NINE_IN_BERLIN, timezone: 'UTC' } })).toEqual(before);
  });

  test('stores no time zones when no rule needs them', async () => {
    const { freeze } = await plant([{ timezone: 'America/New_York' }]);
    expect(await freeze({ schedule: { ...NINE_IN_BERLIN, recipientLocal: false } })).toMatchObject([
      { place: null, is_due: true },
    ]);
  });
});
