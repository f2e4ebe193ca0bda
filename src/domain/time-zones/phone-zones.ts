import { PHONE_ZONES } from './phone-zones-data';

/**
 * Time zones where the owner of a phone number may be, by the number's prefix. A mobile or freephone number
 * only shows its country, which may have several zones; and people who move keep their number. Therefore it is
 * used only for contacts without a better source, and all its zones count.
 */

let known: ReadonlyMap<string, readonly string[]> | undefined;

/** Zones by prefix, digits only. Parsed at first use, because most processes never need it. */
export function phoneZones(): ReadonlyMap<string, readonly string[]> {
  known ??= readZones();
  return known;
}

/** Number of digits of the longest prefix. */
export const PHONE_PREFIX_MAX = 9;

/** The longest known prefix of an E.164 number, with its plus; undefined if none is known. */
export function phonePrefix(phone: string | null): string | undefined {
  if (phone === null) return undefined;
  const digits = phone.slice(1, 1 + PHONE_PREFIX_MAX);
  for (let length = digits.length; length > 0; length--) {
    const prefix = digits.slice(0, length);
    if (phoneZones().has(prefix)) return `+${prefix}`;
  }
  return undefined;
}

/**
 * Where a recipient may be. The time zone is missing when the run had no rules by recipients' local time as its audience
 * was frozen.
 */
export const placeOf = ({
  place,
  address,
}: {
  place: string | null;
  address: string | null;
}): string | null => place ?? phonePrefix(address) ?? null;

function readZones(): Map<string, readonly string[]> {
  const zones = new Map<string, readonly string[]>();
  for (const line of PHONE_ZONES.trim().split('\n')) {
    const [names = '', prefixes = ''] = line.split(':');
    const set = names.split(' ');
    for (const prefix of prefixes.split(' ')) zones.set(prefix, set);
  }
  return zones;
}
