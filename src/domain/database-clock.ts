/** A smaller difference may be the way to the database and back; an answer that took longer says too little. */
const NOTED_MS = 2_000;

let aheadMs = 0;

/**
 * The time by which recipients expire and hours open, for all processes the same: due times are by the database's clock, and a
 * worker whose own is five minutes ahead would end recipients five minutes early. Equal to the own clock unless they
 * differ by seconds.
 */
export const databaseNow = (): number => Date.now() - aheadMs;

/** With each sign of life; after a late answer the last reading holds. Returns how far the own clock is ahead, if that is worth a word. */
export function noteDatabaseClock({ at, askedAt, answeredAt }: ClockReading): number | undefined {
  const tookMs = answeredAt - askedAt;
  // Below 0 the own clock was set meanwhile.
  if (tookMs >= 0 && tookMs <= NOTED_MS) {
    const measured = Math.round(askedAt + tookMs / 2 - at.getTime());
    aheadMs = Math.abs(measured) > NOTED_MS ? measured : 0;
  }
  return aheadMs === 0 ? undefined : aheadMs;
}

interface ClockReading {
  at: Date;
  askedAt: number;
  answeredAt: number;
}
