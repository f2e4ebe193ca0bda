/** Numbers, times and plurals as the person's own language and zone write them: those of the browser. */
const LANGUAGE = undefined;
/** The texts are English, so their plurals are. */
const plurals = new Intl.PluralRules('en');
const numbers = new Intl.NumberFormat(LANGUAGE);
const shares = new Intl.NumberFormat(LANGUAGE, { style: 'percent', maximumFractionDigits: 1 });

export const formatNumber = (n: number): string => numbers.format(n);
export const formatShare = (part: number, whole: number): string =>
  shares.format(whole === 0 ? 0 : part / whole);

/** `{name}` in a text becomes the value of that name. */
export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === 'number' ? formatNumber(value) : value;
  });
}

/** The form of a text for `n`, with `{n}` filled in. */
export function plural(n: number, forms: { one: string; other: string }): string {
  return fill(plurals.select(n) === 'one' ? forms.one : forms.other, { n });
}

const DATE_TIME = { dateStyle: 'medium', timeStyle: 'short' } as const;

/** It breaks between the day and the hour, and nowhere else. */
export const formatTime = (at: string | number | Date): string =>
  new Intl.DateTimeFormat(LANGUAGE, DATE_TIME)
    .formatToParts(new Date(at))
    .map(({ type, value }, i, parts) =>
      type === 'literal' && parts[i + 1]?.type !== 'hour' ? value.replaceAll(' ', '\u00a0') : value,
    )
    .join('');

export const formatDay = (at: string | number | Date): string =>
  new Intl.DateTimeFormat(LANGUAGE, { dateStyle: DATE_TIME.dateStyle }).format(new Date(at));

/** As the API writes it, for those who compare with logs. */
export const formatUtc = (at: string | number | Date): string =>
  `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const;

/** The two largest units: `2 hours 5 minutes`. */
export function formatDuration(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count === 0 && !(unit === 'second' && parts.length === 0)) continue;
    parts.push(new Intl.NumberFormat(LANGUAGE, { style: 'unit', unit, unitDisplay: 'long' }).format(count));
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}
