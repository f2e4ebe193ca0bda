/** Times as the clocks of a zone show them, because a campaign is often edited in another zone than its own. */

const DAY_MS = 86_400_000;

/** As the browser's field for a date and a time has it: `2026-11-24T09:00`. */
export function clocksAt(at: string | number, zone: string): string {
  const format = new Intl.DateTimeFormat('en', {
    ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
    hourCycle: 'h23',
    timeZone: zone || undefined,
  });
  const shown = Object.fromEntries(
    format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]),
  );
  return `${shown.year}-${shown.month}-${shown.day}T${shown.hour}:${shown.minute}`;
}

/** The moment at which they show it: the first of two when clocks are set back, the hour after when they skip it. */
export function momentOf(clocks: string, zone: string): string {
  const asUtc = Date.parse(`${clocks}Z`);
  const aheadAt = (at: number) => Date.parse(`${clocksAt(at, zone)}Z`) - at;
  // The offsets on both sides of a change, if there is one near.
  const [first, second] = [asUtc - aheadAt(asUtc - DAY_MS), asUtc - aheadAt(asUtc + DAY_MS)];
  const isSecond = clocksAt(first, zone) !== clocks && clocksAt(second, zone) === clocks;
  return new Date(isSecond ? second : first).toISOString();
}
