import { randomInt } from 'node:crypto';
import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';

/**
 * Numbers that join the parts of a message at the phone, which tells messages to one destination apart by
 * them: counted for each, so that the same comes again only after 255 others. Where the count is not known,
 * because the process is new or the destination was forgotten, it begins anywhere: at the same place each time
 * it would meet the number of a message still on its way after every restart, and not after one in 256.
 */
export function createReferences(): (destination: string) => () => number {
  const last = new BoundedCache<number>(LIMITS.smppReferences);
  return (destination) => () => {
    const next = ((last.get(destination) ?? randomInt(256)) + 1) & 0xff;
    last.set(destination, next);
    return next;
  };
}
