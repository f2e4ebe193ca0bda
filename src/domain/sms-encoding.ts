/**
 * How a text travels as SMS (3GPP TS 23.038 and 23.040). It is GSM-7 while every character is in the basic or
 * extension table, otherwise UCS-2. One segment holds 140 bytes. In a text of several segments, each loses six
 * bytes to the header that joins them.
 */
export type SmsEncoding = 'gsm7' | 'ucs2';

export interface SmsMeasure {
  encoding: SmsEncoding;
  segments: number;
}

/** Septets (GSM-7) or 16-bit units (UCS-2) in a text of one segment, and in each of several segments. */
const CAPACITY = { gsm7: { single: 160, joined: 153 }, ucs2: { single: 70, joined: 67 } } as const;

/** Runs for every accepted message. Most are one segment, which is found without splitting the text. */
export function measureSms(text: string): SmsMeasure {
  const septets = septetsOf(text);
  if (septets === undefined) return { encoding: 'ucs2', segments: ucs2Segments(text) };
  return { encoding: 'gsm7', segments: septets <= CAPACITY.gsm7.single ? 1 : gsm7Segments(text) };
}

/** Characters that keep a text from being GSM-7, each once with its first position, counted from 1. */
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

/** `undefined` for a text with a character outside GSM-7. */
function septetsOf(text: string): number | undefined {
  let septets = 0;
  for (let i = 0; i < text.length; i++) {
    const size = SEPTETS.get(text.charCodeAt(i));
    if (size === undefined) return undefined;
    septets += size;
  }
  return septets;
}

/** An escaped character must not be split between segments, so that dividing the length is not enough. */
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

/** A surrogate pair must not be split either. A lone surrogate counts as one unit. */
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
/** Characters reached through an escape, so that each costs two septets. */
const EXTENSION = '\f^{}\\[~]|€';

const SEPTETS: ReadonlyMap<number, number> = new Map([
  ...[...BASIC].map((character): [number, number] => [character.charCodeAt(0), 1]),
  ...[...EXTENSION].map((character): [number, number] => [character.charCodeAt(0), 2]),
]);
