import { gsm7Units } from './gsm7';

/** One submit_sm's worth of a text. */
export interface SmsPart {
  /** 0: the centre's default alphabet, which is GSM-7 by every operator's word; 8: UCS-2. */
  dataCoding: 0 | 8;
  octets: Buffer;
  /** The octets begin with a header that joins the parts. */
  hasHeader: boolean;
}

/** Octets of text in a message that is one part, and in each of several, which lose six to the header. */
const SIZE = { gsm7: { whole: 160, part: 153 }, ucs2: { whole: 140, part: 134 } } as const;
export const PARTS_MAX = 255;

/**
 * A text as SMPP carries it, in as many parts as domain/sms-encoding.ts counts: neither an escaped character
 * nor a surrogate pair is cut in two. `reference` joins the parts at the phone. Parts beyond 255 cannot be
 * numbered; the caller refuses such a text.
 */
export function encodeSms(text: string, reference: () => number): SmsPart[] {
  const units = gsm7Units(text);
  const dataCoding = units ? 0 : 8;
  const { whole, part } = units ? SIZE.gsm7 : SIZE.ucs2;
  const pieces = units ?? ucs2Units(text);
  const size = pieces.reduce((sum, unit) => sum + unit.length, 0);
  if (size <= whole) return [{ dataCoding, octets: joined(pieces, size), hasHeader: false }];
  const cut = cutAt(pieces, part);
  const number = reference() & 0xff;
  return cut.map((octets, i) => ({
    dataCoding,
    octets: Buffer.from([5, 0, 3, number, cut.length & 0xff, (i + 1) & 0xff, ...octets]),
    hasHeader: true,
  }));
}

/** For centres that cut long texts themselves. */
export function encodeWhole(text: string): SmsPart {
  const units = gsm7Units(text);
  return {
    dataCoding: units ? 0 : 8,
    octets: Buffer.from((units ?? ucs2Units(text)).flat()),
    hasHeader: false,
  };
}

/** The octets of each character; half of a surrogate pair, which has no other half, is one by itself. */
function ucs2Units(text: string): number[][] {
  const units: number[][] = [];
  for (const character of text) {
    const octets: number[] = [];
    for (let i = 0; i < character.length; i++) {
      const unit = character.charCodeAt(i);
      octets.push(unit >> 8, unit & 0xff);
    }
    units.push(octets);
  }
  return units;
}

/** By hand: nearly every text comes by here, and `flat` with `Buffer.from` was the largest cost of handing over. */
function joined(units: readonly (readonly number[])[], size: number): Buffer {
  const octets = Buffer.allocUnsafe(size);
  let at = 0;
  for (const unit of units) for (const octet of unit) octets[at++] = octet;
  return octets;
}

function cutAt(units: readonly (readonly number[])[], size: number): number[][] {
  const parts: number[][] = [];
  let part: number[] = [];
  for (const unit of units) {
    if (part.length + unit.length > size) {
      parts.push(part);
      part = [];
    }
    part.push(...unit);
  }
  parts.push(part);
  return parts;
}
