import type { Channel } from './channel';

/**
 * Addresses as they are stored and compared. Each function answers the normal form, or `undefined` for
 * what cannot be one. Whether anybody is there is not asked.
 */

const PHONE_PUNCTUATION = /[\s().[\]/\u2010-\u2015-]/g;
const E164 = /^\+[1-9]\d{6,14}$/;
const SHORT_CODE = /^\d{3,8}$/;
/** What GSM allows as an alphanumeric sender: at most 11 characters, not digits alone. */
const ALPHANUMERIC_SENDER = /^(?=.*[A-Za-z])[A-Za-z0-9 &_.-]{1,11}$/;

/** A number with its country code, `+` and digits only. */
export function normalPhone(value: string): string | undefined {
  const compact = value.replace(PHONE_PUNCTUATION, '');
  return E164.test(compact) ? compact : undefined;
}

const EMAIL_CHARS_MAX = 254;
const LOCAL_PART = /^[^\s@<>()[\]\\,;:"\p{Cc}]{1,64}$/u;
const DOMAIN = /^(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,63}$/u;

/** Trimmed, with the domain in lower case; the part before the @ belongs to its owner and is kept. */
export function normalEmail(value: string): string | undefined {
  const trimmed = value.trim();
  const at = trimmed.lastIndexOf('@');
  if (at < 1 || trimmed.length > EMAIL_CHARS_MAX) return undefined;
  const local = trimmed.slice(0, at);
  const domain = trimmed.slice(at + 1).toLowerCase();
  return LOCAL_PART.test(local) && DOMAIN.test(domain) ? `${local}@${domain}` : undefined;
}

const NAMED = /^(?:"([^"\\\p{Cc}]*)"|([^"<>\\,;:@\p{Cc}]*))\s*<([^<>]*)>$/u;
const NAME_CHARS_MAX = 128;

/** An email sender: an address, with a display name or without. */
export function normalMailbox(value: string): string | undefined {
  const trimmed = value.trim();
  const named = NAMED.exec(trimmed);
  if (!named) return normalEmail(trimmed);
  const name = (named[1] ?? named[2] ?? '').trim();
  const address = normalEmail(named[3] ?? '');
  if (!address || name.length > NAME_CHARS_MAX) return undefined;
  return name ? `"${name}" <${address}>` : address;
}

export function normalRecipient(channel: Channel, value: string): string | undefined {
  return channel === 'email' ? normalEmail(value) : normalPhone(value);
}

export function normalSender(channel: Channel, value: string): string | undefined {
  if (channel === 'email') return normalMailbox(value);
  const phone = normalPhone(value);
  if (phone || channel === 'voice') return phone;
  const trimmed = value.trim();
  return SHORT_CODE.test(trimmed) || ALPHANUMERIC_SENDER.test(trimmed) ? trimmed : undefined;
}
