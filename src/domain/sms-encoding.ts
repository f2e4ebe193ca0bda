/**
 * How a text travels as SMS (3GPP TS 23.038 and 23.040). GSM-7 as long as every character is in its
 * basic or extension table, else UCS-2. One segment holds 140 bytes; in a text of several, each loses
 * six of them to the header that joins them.
 */
export type SmsEncoding = 'gsm7' | 'ucs2';

export interface SmsMeasure {
  encoding: SmsEncoding;
  segments: number;
}

/** Septets (GSM-7) or 16-bit units (UCS-2) in a text that is one segment, and in each of several. */
const CAPACITY = { gsm7: { single: 160, joined: 153 }, ucs2: { single: 70, joined: 67 } } as const;

/** Runs for every message that is accepted: most are one segment, which a count without a list shows. */
export function measureSms(text: string): SmsMeasure {
  const septets = septetsOf(text);
  if (septets === undefined) return { encoding: 'ucs2', segments: ucs2Segments(text) };
  return { encoding: 'gsm7', segments: septets <= CAPACITY.gsm7.single ? 1 : gsm7Segments(text) };
}

/** Characters by which a text is not GSM-7: each once, and where it first stands, counted from 1. */
export function outsideGsm7(text: string): { character: string; position: number }[] {
  const found = new Map<string, number>();
  let position = 0;
  for (const character of text) {
    position += 1;
    const known = character.length === 1 && SEPTETS.has(character.charCodeAt(0));
    if (!known && !found.has(character)) found.set(character, position);
  }
  return [...found].map(([character, first]) => ({ character, position: first }));
}

/** `undefined` for a text that holds another character. */
function septetsOf(text: string): number | undefined {
  let septets = 0;
  for (let i = 0; i < text.length; i++) {
    const size = SEPTETS.get(text.charCodeAt(i));
    if (size === undefined) return undefined;
    septets += size;
  }
  return septets;
}

/** An escaped character may not be cut in two, so dividing is not enough. */
function gsm7Segments(text: string): number {
  let segments = 1;
  let used = 0;
  for (let i = 0; i < text.length; i++) {
    const size = SEPTETS.get(text.charCodeAt(i)) ?? 1;
    if (used + size > CAPACITY.gsm7.joined) {
      segments += 1;
      used = 0;
    }
    used += size;
  }
  return segments;
}

/** Nor may a surrogate pair; half of one, which has no other half, is a unit like any other. */
function ucs2Segments(text: string): number {
  if (text.length <= CAPACITY.ucs2.single) return 1;
  let segments = 1;
  let used = 0;
  for (const character of text) {
    if (used + character.length > CAPACITY.ucs2.joined) {
      segments += 1;
      used = 0;
    }
    used += character.length;
  }
  return segments;
}

const BASIC =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
/** Reached through an escape, so that each costs two septets. */
const EXTENSION = '\f^{}\\[~]|€';

const SEPTETS: ReadonlyMap<number, number> = new Map([
  ...[...BASIC].map((character): [number, number] => [character.charCodeAt(0), 1]),
  ...[...EXTENSION].map((character): [number, number] => [character.charCodeAt(0), 2]),
]);
