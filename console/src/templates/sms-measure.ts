/**
 * How many segments an SMS takes (3GPP TS 23.038): the server's rule again, because a draft is measured while it is
 * typed. A test holds both against each other.
 */
const BASIC = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
);
const EXTENDED = new Set('\f^{}\\[~]|€');

const SIZES = { gsm7: { single: 160, joined: 153 }, ucs2: { single: 70, joined: 67 } } as const;

interface Measure {
  encoding: keyof typeof SIZES;
  segments: number;
  /** Septets or 16-bit units. */
  used: number;
  /** How much more fits into the last segment. */
  left: number;
  /** Characters because of which it is not GSM-7, each once. */
  unusual: readonly string[];
}

export function measureText(text: string): Measure {
  const characters = [...text];
  const unusual = [...new Set(characters.filter((one) => !BASIC.has(one) && !EXTENDED.has(one)))];
  const encoding = unusual.length === 0 ? 'gsm7' : 'ucs2';
  const sizeOf = (one: string) => (encoding === 'ucs2' ? one.length : EXTENDED.has(one) ? 2 : 1);
  const { single, joined } = SIZES[encoding];
  const used = characters.reduce((sum, one) => sum + sizeOf(one), 0);
  if (used <= single) return { encoding, segments: 1, used, left: single - used, unusual };
  let segments = 1;
  let inLast = 0;
  for (const one of characters) {
    // A character is never split between two segments.
    if (inLast + sizeOf(one) > joined) {
      segments += 1;
      inLast = 0;
    }
    inLast += sizeOf(one);
  }
  return { encoding, segments, used, left: joined - inLast, unusual };
}
