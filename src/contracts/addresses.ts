import { z } from 'zod';
import type { Channel } from '../domain/channel';
import { EMAIL_ADDRESS } from '../domain/email-address';
import { finding, refused } from './validation-issue';

/** Addresses of people and senders, normalised as they enter (api.md 4). */

const EMAIL_CHARS = 254;

export const DOMAIN = /^[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9]([a-z0-9-]{0,62}))+$/i;

export const email = z
  .string()
  .trim()
  .max(EMAIL_CHARS)
  .check(z.email({ pattern: EMAIL_ADDRESS, error: 'This must be an email address' }));

/** E.164: a plus, the country code and the number. A number without its country is ambiguous. */
const phone = z
  .string()
  .max(40)
  .transform(withoutSeparators)
  .pipe(z.string().regex(/^\+[1-9]\d{6,14}$/, 'This must be a phone number such as +14155550123'));

/** An address, or `"Display Name" <address>`. */
const emailSender = z
  .string()
  .trim()
  .max(EMAIL_CHARS * 2)
  .refine((value) => !/[\r\n]/.test(value), refused('line_break', 'A sender is one line'))
  .refine(
    (value) => EMAIL_ADDRESS.test(addressOf(value)),
    refused('invalid_sender', 'This must be an email address, with or without a display name'),
  );

const SHORT_CODE = /^\d{3,8}$/;
/**
 * As it is shown on the phone, so nothing of it is changed. Spaces are in the alphabet of such an address (3GPP
 * TS 23.040, 9.1.2.5) and carriers take them; of the other characters many take none.
 */
const ALPHANUMERIC = /^(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11}$/;

const smsSender = z
  .string()
  .trim()
  .max(40)
  .transform((value, context) => {
    if (ALPHANUMERIC.test(value)) return value;
    const number = withoutSeparators(value);
    if (SHORT_CODE.test(number) || phone.safeParse(number).success) return number;
    const message =
      'This must be a phone number, a short code of 3 to 8 digits, or at most 11 letters, digits and spaces';
    context.addIssue(finding('invalid_sender', message));
    return z.NEVER;
  });

export const recipientOf: Record<Channel, z.ZodType<string, string>> = { email, sms: phone, voice: phone };

export const senderOf: Record<Channel, z.ZodType<string, string>> = {
  email: emailSender,
  sms: smsSender,
  voice: phone,
};

/** An address that a person is looked for by, as it is written in a query: there a plus arrives as a space. */
export function lookedForAddress(value: string): string {
  if (value.includes('@')) return value.trim();
  return withoutSeparators(value.replace(/^ (?=\d)/, '+'));
}

/** The same of a sender, which may also be a name, with spaces that belong to it. */
export function lookedForSender(value: string): string {
  return /[A-Za-z]/.test(value) ? value.trim() : lookedForAddress(value);
}

/** A part of an address or of another text, as it is written in a query. */
export const searchedAddress = (value: string): string => value.replace(/^ (?=\d)/, '+');

function withoutSeparators(value: string): string {
  return value.replace(/[\s()[\]\u002d\u2010-\u2015]/g, '');
}

/** The address of a sender that may have a display name. */
export function addressOf(sender: string): string {
  return /^[^<>]*<([^<>]+)>$/.exec(sender)?.[1] ?? sender;
}
