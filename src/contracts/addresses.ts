import { z } from 'zod';
import type { Channel } from '../domain/channel';

/** Addresses of people and senders, normalised as they enter (api.md 4). */

const EMAIL_CHARS = 254;

export const email = z.string().trim().max(EMAIL_CHARS).check(z.email('This must be an email address'));

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
  .refine((value) => !/[\r\n]/.test(value), 'A sender is one line')
  .refine((value) => z.email().safeParse(addressOf(value)).success, {
    message: 'This must be an email address, with or without a display name',
  });

const SHORT_CODE = /^\d{3,8}$/;
const ALPHANUMERIC = /^(?=.*[A-Za-z])[A-Za-z0-9]{1,11}$/;

const smsSender = z
  .string()
  .trim()
  .max(40)
  .transform((value) => (ALPHANUMERIC.test(value) ? value : withoutSeparators(value)))
  .refine((value) => ALPHANUMERIC.test(value) || SHORT_CODE.test(value) || phone.safeParse(value).success, {
    message: 'This must be a phone number, a short code of 3 to 8 digits, or at most 11 letters and digits',
  });

export const recipientOf: Record<Channel, z.ZodType<string, string>> = { email, sms: phone, voice: phone };

export const senderOf: Record<Channel, z.ZodType<string, string>> = {
  email: emailSender,
  sms: smsSender,
  voice: phone,
};

function withoutSeparators(value: string): string {
  return value.replace(/[\s()[\]\u002d\u2010-\u2015]/g, '');
}

/** The address of a sender that may have a display name. */
export function addressOf(sender: string): string {
  return /^[^<>]*<([^<>]+)>$/.exec(sender)?.[1] ?? sender;
}
