import { PHONE_ZONES } from './phone-zones-data';

/**
 * Where the owner of a phone number may be, by how the number begins. A mobile or freephone number says no
 * more than its country, which may be several zones; and whoever moves keeps the number. So this is for
 * contacts that nothing better is known of, and all its zones count.
 */

let known: ReadonlyMap<string, readonly string[]> | undefined;

/** By prefix, digits only. Read when first asked for: most processes never do. */
export function phoneZones(): ReadonlyMap<string, readonly string[]> {
  known ??= readZones();
  return known;
}

/** Digits of the longest prefix. */
export const PHONE_PREFIX_MAX = 9;

/** The longest prefix of an E.164 number that is known, with its plus; undefined for none. */
export function phonePrefix(phone: string): string | undefined {
  const digits = phone.slice(1, 1 + PHONE_PREFIX_MAX);
  for (let length = digits.length; length > 0; length--) {
    const prefix = digits.slice(0, length);
    if (phoneZones().has(prefix)) return `+${prefix}`;
  }
  return undefined;
}

function readZones(): Map<string, readonly string[]> {
  const zones = new Map<string, readonly string[]>();
  for (const line of PHONE_ZONES.trim().split('\n')) {
    const [names = '', prefixes = ''] = line.split(':');
    const set = names.split(' ');
    for (const prefix of prefixes.split(' ')) zones.set(prefix, set);
  }
  return zones;
}
