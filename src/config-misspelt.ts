import { SECRETS } from './config';
import { VARIABLES } from './config-variables';

const KNOWN = [...Object.keys(VARIABLES.shape), ...SECRETS.map((name) => `${name}_FILE`)];
const OFF_MAX = 2;

export interface MisspeltVariable {
  name: string;
  meant: string;
}

/**
 * Variables that are set and are a letter or two off one of ours. Nothing reads them: with `FANFARE_SMS_PROVDER=twilio` the
 * simulator would take every message. Other unknown names may be meant for another program.
 */
export function misspeltVariables(env: Record<string, string | undefined>): MisspeltVariable[] {
  const set = Object.keys(env).filter((name) => env[name] && !KNOWN.includes(name));
  return set.flatMap((name) => {
    const free = KNOWN.filter((known) => !env[known]).map((known) => ({ known, off: distance(name, known) }));
    const meant = free.sort((a, b) => a.off - b.off).find(({ off }) => off <= OFF_MAX)?.known;
    return meant === undefined ? [] : [{ name, meant }];
  });
}

/** How many letters are to be added, removed or replaced; more than the limit counts as just more. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > OFF_MAX) return OFF_MAX + 1;
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[b.length] as number;
}
