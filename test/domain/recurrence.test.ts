/** Proves which occurrences a schedule has. */

import { localTimeOf, misfire, newestIn, nextIn, recurrenceOf } from '../../src/domain/recurrence';
import { startFor } from '../../src/domain/time-zones/recipient-hours';

const at = (text: string) => Date.parse(`2027-03-${text}:00Z`);
const schedule = { cron: '0 9 * * *', startAt: '2027-03-02T09:00:00Z', endAt: '2027-03-05T09:00:00+01:00' };

function daily(more: object = {}) {
  const recurrence = recurrenceOf({ schedule: { ...schedule, ...more } });
  if (!recurrence) throw new Error('it does not recur');
  return recurrence;
}

describe('a recurrence', () => {
  test('has no occurrence before its start nor after its end, which both belong to it', () => {
    expect(nextIn(daily(), at('01T00:00'))).toBe(at('02T09:00'));
    expect(nextIn(daily(), at('02T09:00'))).toBe(at('03T09:00'));
    expect(nextIn(daily(), at('04T09:00'))).toBeUndefined();
    expect(nextIn(daily({ endAt: '2027-03-05T09:00:00Z' }), at('04T09:00'))).toBe(at('05T09:00'));
    expect(newestIn(daily(), at('02T08:59'))).toBeUndefined();
    expect(newestIn(daily(), at('20T00:00'))).toBe(at('04T09:00'));
  });

  test('goes by the clocks of its zone', () => {
    expect(nextIn(daily({ timezone: 'America/New_York' }), at('01T00:00'))).toBe(at('02T14:00'));
  });

  test('what is late is sent unless it is to be skipped, and a little late is not late', () => {
    const due = at('03T09:00');
    expect(misfire({}, due, at('09T09:00'))).toBeUndefined();
    expect(misfire({ misfire: 'skip' }, due, at('03T09:05'))).toBeUndefined();
    expect(misfire({ misfire: 'skip' }, due, at('03T09:06'))).toBe(
      'misfire: it was due at 2027-03-03T09:00:00.000Z and nothing was there to begin it until 2027-03-03T09:06:00.000Z',
    );
  });

  test('when the end is over nothing begins any more', () => {
    const last = daily({ endAt: '2027-03-05T09:00:00Z' });
    expect(misfire(last, at('05T09:00'), at('05T09:05'))).toBeUndefined();
    expect(misfire(last, at('05T09:00'), at('05T09:06'))).toMatch(/^misfire: .+ had ended$/);
  });
});

describe('a recurrence at each recipient’s own hour', () => {
  const begins = (schedule: object, after: string) => {
    const recurrence = recurrenceOf({ schedule: { cron: '0 9 * * *', recipientLocal: true, ...schedule } });
    const next = recurrence && nextIn(recurrence, Date.parse(after));
    return recurrence && next !== undefined
      ? [new Date(next).toISOString().slice(0, 16), localTimeOf(recurrence, next)]
      : undefined;
  };

  test('begins when the first clocks on earth show its hour, whatever its own zone', () => {
    const nine = ['2027-03-09T19:00', '2027-03-10T09:00'];
    expect(begins({}, '2027-03-09T00:00:00Z')).toEqual(nine);
    expect(begins({ timezone: 'America/New_York' }, '2027-03-09T00:00:00Z')).toEqual(nine);
  });

  test('goes by days of the week as recipients have them', () => {
    // A Sunday evening in UTC, on which Monday begins in the east.
    expect(begins({ cron: '0 1 * * mon' }, '2027-03-06T00:00:00Z')).toEqual([
      '2027-03-07T11:00',
      '2027-03-08T01:00',
    ]);
  });

  test('has bounds that are hours on the wall, too', () => {
    const of = (schedule: object) => begins(schedule, '2027-01-01T00:00:00Z')?.[1];
    expect(of({ startAt: '2027-03-10T09:00:00Z' })).toBe('2027-03-10T09:00');
    expect(of({ startAt: '2027-03-10T09:01:00Z' })).toBe('2027-03-11T09:00');
    // Half past nine in the morning in Tokyo.
    expect(of({ startAt: '2027-03-10T00:30:00Z', timezone: 'Asia/Tokyo' })).toBe('2027-03-11T09:00');
    expect(of({ endAt: '2027-01-01T08:59:00Z' })).toBeUndefined();
    expect(of({ endAt: '2027-01-02T09:00:00+05:00' })).toBe('2027-01-02T09:00');
  });

  test.each([
    // Clocks are put forward in Berlin on 28 March, back on 31 October; in New York on 14 March and 7 November.
    ['2027-03-27T02:30', 'Europe/Berlin', '2027-03-27T01:30'],
    ['2027-03-28T02:30', 'Europe/Berlin', '2027-03-28T01:00'],
    ['2027-03-29T02:30', 'Europe/Berlin', '2027-03-29T00:30'],
    ['2027-10-31T02:30', 'Europe/Berlin', '2027-10-31T00:30'],
    ['2027-11-01T02:30', 'Europe/Berlin', '2027-11-01T01:30'],
    ['2027-03-14T02:30', 'America/New_York', '2027-03-14T07:00'],
    ['2027-03-28T02:30', 'America/New_York', '2027-03-28T06:30'],
    ['2027-11-07T01:15', 'America/New_York', '2027-11-07T05:15'],
    // By half an hour, on the other half of the earth.
    ['2027-10-03T02:15', 'Australia/Lord_Howe', '2027-10-02T15:30'],
    ['2027-04-04T01:45', 'Australia/Lord_Howe', '2027-04-03T14:45'],
    // The first clocks and the last.
    ['2027-03-28T02:30', 'Pacific/Kiritimati', '2027-03-27T12:30'],
    ['2027-03-28T02:30', 'Etc/GMT+12', '2027-03-28T14:30'],
    // A number that may be in Mountain or in Pacific time: both must have shown it.
    ['2027-07-01T09:00', '+12085', '2027-07-01T16:00'],
  ])('is due at %s in %s at %s', (localTime, place, expected) => {
    const due = startFor(place, { localTime, schedule: { cron: '* * * * *', recipientLocal: true } });
    expect(new Date(due ?? 0).toISOString().slice(0, 16)).toBe(expected);
  });

  test('is due nowhere before it begins, and everywhere a day and two hours after', () => {
    const cron = '30 2 * * *';
    const recurrence = recurrenceOf({ schedule: { cron, recipientLocal: true } });
    if (!recurrence) throw new Error('it does not recur');
    let begin = Date.parse('2027-01-01T00:00:00Z');
    for (let day = 0; day < 365; day++) {
      begin = nextIn(recurrence, begin) ?? Number.NaN;
      const localTime = localTimeOf(recurrence, begin) ?? undefined;
      for (const zone of [
        'Pacific/Kiritimati',
        'Pacific/Chatham',
        'Europe/Berlin',
        'America/St_Johns',
        'Etc/GMT+12',
      ]) {
        const due = startFor(zone, { localTime }) ?? Number.NaN;
        expect(due).toBeGreaterThanOrEqual(begin);
        expect(due).toBeLessThanOrEqual(begin + 26 * 3_600_000);
      }
    }
  });
});
