/** Type of number and numbering plan (SMPP 3.4, 5.2.5 and 5.2.6), by what an address looks like. */
export interface SmppAddress {
  ton: number;
  npi: number;
  /** On the wire a number has no plus. */
  digits: string;
}

const INTERNATIONAL = { ton: 1, npi: 1 };
const SHORT_CODE = { ton: 3, npi: 0 };
const ALPHANUMERIC = { ton: 5, npi: 0 };

export function smppAddress(address: string): SmppAddress {
  if (address.startsWith('+')) return { ...INTERNATIONAL, digits: address.slice(1) };
  if (/^\d{1,8}$/.test(address)) return { ...SHORT_CODE, digits: address };
  return { ...(/^\d+$/.test(address) ? INTERNATIONAL : ALPHANUMERIC), digits: address };
}

/** An address that a centre names. A short code has no country, and a name no plus. */
export function addressFrom(digits: string, ton: number | undefined): string {
  if (!/^\d+$/.test(digits)) return digits;
  // Two zeros stand for the plus: no country's code begins with one.
  const [, afterZeros] = /^00(\d{7,})$/.exec(digits) ?? [];
  if (afterZeros !== undefined) return `+${afterZeros}`;
  return ton === 1 || (ton !== 3 && digits.length > 8) ? `+${digits}` : digits;
}

/** A centre may write a number without its country, or with zeros in front. */
export function isSameNumber(one: string, other: string): boolean {
  const [a, b] = [one, other].map((number) => number.replace(/^\+?0*/, '')) as [string, string];
  return a.endsWith(b) || b.endsWith(a);
}
