import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { EMAIL_ADDRESS } from '../../domain/email-address';

/** What each field of a contact may contain, and the form in which it is stored. */

const EMAIL_CHARS_MAX = 254;

/** At least seven digits, as the send endpoint requires; some countries also have shorter numbers. */
const E164 = /^\+[1-9]\d{6,14}$/;

/**
 * Stores the domain in lower case, because a domain means the same however it is written. The part before the @
 * is kept as it is, because its meaning is up to the domain's owner.
 */
export function emailAddress(text: string): string | undefined {
  if (text.length > EMAIL_CHARS_MAX || !EMAIL_ADDRESS.test(text)) return undefined;
  const at = text.lastIndexOf('@');
  return text.slice(0, at) + text.slice(at).toLowerCase();
}

/**
 * Returns the number in E.164, or `undefined` when it cannot be dialled. Only its length is checked against its
 * country, because numbering plans open new ranges before any library knows them, and such a number may be
 * real. An extension cannot be texted, nor dialled in one step. A number with an extension is refused, because
 * dropping it would reach the wrong person.
 */
export function phoneNumber(text: string, country: CountryCode | undefined): string | undefined {
  const parsed = parsePhoneNumberFromString(text, {
    ...(country && { defaultCountry: country }),
    extract: false,
  });
  if (!parsed?.isPossible() || parsed.ext) return undefined;
  return E164.test(parsed.number) ? parsed.number : undefined;
}

/** The country to assume for numbers without a country code; `undefined` if the code is unknown. */
export function phoneRegion(code: string): CountryCode | undefined {
  return isSupportedCountry(code) ? code : undefined;
}

/** The canonical BCP 47 tag. The POSIX form `it_IT` is accepted. */
export function localeTag(text: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(text.replaceAll('_', '-'))[0];
  } catch {
    return undefined;
  }
}

/**
 * Letters of any script are allowed; control characters and broken characters are not, because databases,
 * headers and terminals fail on them.
 */
export function isPlainText(text: string, options: { lines: boolean }): boolean {
  return !LONE_SURROGATE.test(text) && !(options.lines ? CONTROL_BUT_LINES : CONTROL).test(text);
}

/** Half a character (a lone surrogate): JSON can contain it, PostgreSQL refuses it. */
const LONE_SURROGATE = /\p{Cs}/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const CONTROL_BUT_LINES = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;
