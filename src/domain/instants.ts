/**
 * Bounds for times. A database has no year 0, and a year is written with four digits. Times of events are
 * limited to our era, so that times computed from them, such as a day later for other time zones, stay valid
 * too.
 */
const FIRST = Date.parse('0001-01-01T00:00:00Z');
const OUR_TIME = Date.parse('1970-01-01T00:00:00Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');

/** A search bound may be earlier than every stored time. */
export const isOfCalendar = (ms: number): boolean => ms >= FIRST && ms <= LAST;
export const isOfOurTime = (ms: number): boolean => ms >= OUR_TIME && ms <= LAST;
