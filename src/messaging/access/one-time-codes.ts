import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * One-time codes by time (RFC 6238), with the parameters that every authenticator app takes: SHA-1, six digits,
 * thirty seconds.
 */
const STEP_MS = 30_000;
const DIGITS = 6;
/** 160 bits, as RFC 4226 recommends. */
const SECRET_BYTES = 20;

export const newTotpSecret = (): string => base32(randomBytes(SECRET_BYTES));

/**
 * The step of the code, if it is the current one, the one before or the one after, because clocks differ, and if
 * it comes after the newest that was used. Each code is good for one use so.
 */
export function stepOf(secret: string, code: string, lastStep: number, nowMs: number): number | undefined {
  const current = Math.floor(nowMs / STEP_MS);
  const given = Buffer.from(code);
  // All three are compared, so that the time does not tell which one came close.
  const matching = [current - 1, current, current + 1].filter((step) => {
    const expected = Buffer.from(totpCode(secret, step));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  return matching.find((step) => step > lastStep);
}

/** The code of a step: HOTP (RFC 4226) of its number. */
export function totpCode(secret: string, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest();
  const offset = (mac[mac.length - 1] as number) & 0xf;
  const number = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, '0');
}

/** What an authenticator app reads from a QR code. */
export function otpauthUrl(secret: string, email: string): string {
  const query = new URLSearchParams({
    secret,
    issuer: 'Fanfare',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
  return `otpauth://totp/Fanfare:${encodeURIComponent(email)}?${query}`;
}

/** 28 letters of five bits. */
const RECOVERY_BYTES = 18;
const RECOVERY_CODES = 10;

/** Each stands in for a code once. 140 random bits cannot be guessed, so that a plain hash protects them. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: RECOVERY_CODES }, () =>
    (base32(randomBytes(RECOVERY_BYTES)).toLowerCase().match(/.{4}/g) as string[]).join('-'),
  );
}

/** As it is hashed: without what people put in or leave out when they type it. */
export const plainCode = (code: string): string => code.replace(/[\s-]/g, '').toLowerCase();

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function base32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{5}/g) ?? []).map((five) => ALPHABET[Number.parseInt(five, 2)]).join('');
}

function fromBase32(text: string): Buffer {
  const bits = [...text].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
