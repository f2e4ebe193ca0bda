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

export function measureSms(text: string): SmsMeasure {
  const encoding = encodingOf(text);
  return { encoding, segments: segmentsOf(text, encoding) };
}

function encodingOf(text: string): SmsEncoding {
  for (let i = 0; i < text.length; i++) {
    if (!SEPTETS.has(text.charCodeAt(i))) return 'ucs2';
  }
  return 'gsm7';
}

/** Neither an escaped character nor a surrogate pair may be cut in two, so counting units is not enough. */
function segmentsOf(text: string, encoding: SmsEncoding): number {
  const { single, joined } = CAPACITY[encoding];
  const sizes = encoding === 'gsm7' ? septetSizes(text) : unitSizes(text);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= single) return 1;
  let segments = 1;
  let used = 0;
  for (const size of sizes) {
    if (used + size > joined) {
      segments += 1;
      used = 0;
    }
    used += size;
  }
  return segments;
}

function septetSizes(text: string): number[] {
  const sizes: number[] = [];
  for (let i = 0; i < text.length; i++) sizes.push(SEPTETS.get(text.charCodeAt(i)) ?? 1);
  return sizes;
}

function unitSizes(text: string): number[] {
  const sizes: number[] = [];
  for (const character of text) sizes.push(character.length);
  return sizes;
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
