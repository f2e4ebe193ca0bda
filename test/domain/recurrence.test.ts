import { misfire, newestIn, nextIn, recurrenceOf } from '../../src/domain/recurrence';

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
