import fc from 'fast-check';

/** Zones whose clocks do something: halves and quarters of hours, both hemispheres, half an hour of summer. */
export const anyZone = fc.constantFrom(
  'UTC',
  'Europe/Berlin',
  'Europe/London',
  'Africa/Casablanca',
  'America/New_York',
  'America/St_Johns',
  'America/Phoenix',
  'America/Santiago',
  'America/Adak',
  'Asia/Kathmandu',
  'Asia/Calcutta',
  'Australia/Lord_Howe',
  'Australia/Adelaide',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
);

/** Weekends on which clocks are changed somewhere, 2026 and 2027. */
const CHANGES = [
  '2026-03-08',
  '2026-03-29',
  '2026-04-05',
  '2026-09-27',
  '2026-10-04',
  '2026-10-25',
  '2026-11-01',
  '2027-03-14',
];
const near = fc
  .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -86_400, max: 86_400 }))
  .map(([day, seconds]) => Date.parse(day) + seconds * 1_000);
const any = fc.integer({ min: 1_770_000_000, max: 1_830_000_000 }).map((seconds) => seconds * 1_000);

/** Whole seconds; half of them about when clocks change. */
export const anyInstant = fc.oneof(near, any);
