/** Proves which time zones a phone number may be in. */

import { phonePrefix, phoneZones } from '../../../src/domain/time-zones/phone-zones';
import { isIanaZone } from '../../../src/domain/time-zones/wall-time';

const zonesOfNumber = (phone: string) => phoneZones().get(phonePrefix(phone)?.slice(1) ?? '');

test('the longest prefix decides', () => {
  expect(zonesOfNumber('+12025550100')).toEqual(['America/New_York']);
  expect(zonesOfNumber('+14155550100')).toEqual(['America/Los_Angeles']);
  expect(zonesOfNumber('+493023125000')).toEqual(['Europe/Berlin']);
  expect(zonesOfNumber('+919812345678')).toEqual(['Asia/Calcutta']);
});

test('a number that may be anywhere in its country has all its zones', () => {
  expect(zonesOfNumber('+447946000000')).toContain('Europe/London');
  expect(zonesOfNumber('+18005550100')?.length).toBeGreaterThan(20);
  expect(zonesOfNumber('+12085550100')?.length).toBe(2);
});

test('what is no number has none', () => {
  expect(phonePrefix('')).toBeUndefined();
  expect(phonePrefix('+000000000')).toBeUndefined();
});

test('every zone of the data is one, and no prefix is longer than is looked for', () => {
  for (const [prefix, zones] of phoneZones()) {
    expect(prefix).toMatch(/^[1-9]\d{0,8}$/);
    for (const zone of zones) expect([zone, isIanaZone(zone)]).toEqual([zone, true]);
  }
  expect(phoneZones().size).toBeGreaterThan(3_000);
});
