/** Below this the difference may be the way to the database and back. */
const NOTED_MS = 2_000;

let aheadMs = 0;

/**
 * The time by which recipients expire and hours open, for all processes the same: due times are by the database's clock, and a
 * worker whose own is five minutes ahead would end recipients five minutes early. Equal to the own clock unless they
 * differ by seconds.
 */
export const databaseNow = (): number => Date.now() - aheadMs;

/** With each sign of life. Returns how far the own clock is ahead, if that is worth a word. */
export function noteDatabaseClock({ at, askedAt, answeredAt }: ClockReading): number | undefined {
  const measured = Math.round((askedAt + answeredAt) / 2 - at.getTime());
  const isApart = Math.abs(measured) > NOTED_MS + (answeredAt - askedAt);
  aheadMs = isApart ? measured : 0;
  return isApart ? measured : undefined;
}

interface ClockReading {
  at: Date;
  askedAt: number;
  answeredAt: number;
}
