import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { EMAIL_ADDRESS } from '../../domain/email-address';

/** What each field of a contact may hold, and the form in which it is stored. */

const EMAIL_CHARS_MAX = 254;

/** Some countries know numbers that are too short for E.164, as the send endpoint takes it. */
const E164 = /^\+[1-9]\d{6,14}$/;

/**
 * With its domain in lower case, which names the same machine however it is written; the part before
 * the @ belongs to its owner and is kept.
 */
export function emailAddress(text: string): string | undefined {
  if (text.length > EMAIL_CHARS_MAX || !EMAIL_ADDRESS.test(text)) return undefined;
  const at = text.lastIndexOf('@');
  return text.slice(0, at) + text.slice(at).toLowerCase();
}

/**
 * The number in E.164, or `undefined` when it is none that can be dialled. Its length is judged by its country, and no
 * more: numbering plans open new ranges before anybody's data knows them, and the person behind such a number is
 * real. An extension cannot be texted and not simply called, so a number with one is refused instead of losing it.
 */
export function phoneNumber(text: string, country: CountryCode | undefined): string | undefined {
  const parsed = parsePhoneNumberFromString(text, {
    ...(country && { defaultCountry: country }),
    extract: false,
  });
  if (!parsed?.isPossible() || parsed.ext) return undefined;
  return E164.test(parsed.number) ? parsed.number : undefined;
}

/** A country code as a region of numbers that are written without one; `undefined` if there is no such. */
export function phoneRegion(code: string): CountryCode | undefined {
  return isSupportedCountry(code) ? code : undefined;
}

/** The canonical BCP 47 tag; `it_IT`, as POSIX writes it, is understood. */
export function localeTag(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text.replaceAll('_', '-'))[0];
  } catch {
    return undefined;
  }
}

/** Letters of any script, but nothing that a database, a header or a terminal would stumble over. */
export function isPlainText(text: string, options: { lines: boolean }): boolean {
  return !LONE_SURROGATE.test(text) && !(options.lines ? CONTROL_BUT_LINES : CONTROL).test(text);
}

/** Half a character: JSON can spell it, a database refuses it. */
const LONE_SURROGATE = /\p{Cs}/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const CONTROL_BUT_LINES = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;
