/**
 * Times that can be kept: a database has no year 0, and written as text a year has four digits. What is to happen or
 * has happened is of our time, which leaves room for what is reckoned from it, such as a day for everybody's zones.
 */
const FIRST = Date.parse('0001-01-01T00:00:00Z');
const OUR_TIME = Date.parse('1970-01-01T00:00:00Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');

/** A bound of what is looked for may lie before all that there is. */
export const isOfCalendar = (ms: number): boolean => ms >= FIRST && ms <= LAST;
export const isOfOurTime = (ms: number): boolean => ms >= OUR_TIME && ms <= LAST;
