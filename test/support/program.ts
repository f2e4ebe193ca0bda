import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import peers from './peers.json';

/** Where programs of the system are that its users rarely start. */
const SYSTEM_PLACES = ['/usr/sbin', '/usr/local/sbin'];

/** One of the programs of peers.json; without it the test fails, and says what to do about it. */
export function programOf(name: string): string {
  const places = [...(process.env.PATH ?? '').split(delimiter), ...SYSTEM_PLACES];
  const found = places.map((place) => join(place, name)).find((file) => existsSync(file));
  if (found) return found;
  const peer = peers.find(({ program }) => program === name);
  throw new Error(`There is no program ${name}. Install it: apt-get install ${peer?.package ?? name}`);
}
