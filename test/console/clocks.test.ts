import { clocksAt, momentOf } from '../../console/src/new-campaign/clocks';

describe('the clocks of a zone', () => {
  test('are those of the zone, whatever the one of this machine', () => {
    expect(clocksAt('2027-07-01T22:00:00.000Z', 'Asia/Kolkata')).toBe('2027-07-02T03:30');
    expect(momentOf('2027-07-02T03:30', 'Asia/Kolkata')).toBe('2027-07-01T22:00:00.000Z');
  });

  test('show an hour twice when they are set back: the first is meant', () => {
    expect(clocksAt('2027-10-31T00:30:00.000Z', 'Europe/Berlin')).toBe('2027-10-31T02:30');
    expect(clocksAt('2027-10-31T01:30:00.000Z', 'Europe/Berlin')).toBe('2027-10-31T02:30');
    expect(momentOf('2027-10-31T02:30', 'Europe/Berlin')).toBe('2027-10-31T00:30:00.000Z');
    expect(momentOf('2027-10-31T03:30', 'Europe/Berlin')).toBe('2027-10-31T02:30:00.000Z');
  });

  test('skip an hour when they are set forward: the one after it is meant', () => {
    expect(momentOf('2027-03-28T02:30', 'Europe/Berlin')).toBe('2027-03-28T01:30:00.000Z');
    expect(momentOf('2027-03-28T03:30', 'Europe/Berlin')).toBe('2027-03-28T01:30:00.000Z');
    expect(momentOf('2027-03-28T01:30', 'Europe/Berlin')).toBe('2027-03-28T00:30:00.000Z');
  });
});
