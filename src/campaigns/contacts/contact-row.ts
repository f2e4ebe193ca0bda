import type { CountryCode } from 'libphonenumber-js/max';
import type { RowFinding } from '../../csv/csv-problems';
import { LIMITS } from '../../domain/limits';
import { isIanaZone } from '../../domain/time-zones/wall-time';
import { emailAddress, isPlainText, localeTag, phoneNumber } from './contact-fields';

/** A contact as an import brings it, not validated: any key may be there, with any value. */
export type RawContact = Record<string, unknown>;

/** A contact that can be stored. A null field or an absent param was not given. */
export interface ContactRow {
  identity: string;
  externalId: string | null;
  name: string | null;
  email: string | null;
  phone: string | null;
  timezone: string | null;
  locale: string | null;
  params: Record<string, string | number>;
}

/** The fields of a contact, as JSON members and CSV columns name them. */
export const CONTACT_FIELDS = ['externalId', 'name', 'email', 'phone', 'timezone', 'locale'] as const;
type ContactField = (typeof CONTACT_FIELDS)[number];

const CHARS_MAX: Record<ContactField, number> = {
  externalId: 255,
  name: 200,
  email: 254,
  phone: 64,
  timezone: 64,
  locale: 64,
};

export const PARAM_NAME = /^[A-Z][A-Z0-9_]*$/;

/** A row is stored completely or not at all: one finding is enough to refuse it. */
export function checkContact(
  raw: RawContact,
  country: CountryCode | undefined,
): { row: ContactRow } | { findings: RowFinding[] } {
  const findings: RowFinding[] = [];
  const find = (field: string, code: string, message: string): null => {
    findings.push({ field, code, message });
    return null;
  };
  const text = (field: ContactField): string | null => readText(raw[field], field, find);

  const externalId = text('externalId');
  const name = text('name');
  const emailText = text('email');
  const phoneText = text('phone');
  const timezone = text('timezone');
  const localeText = text('locale');

  const email = emailText === null ? null : (emailAddress(emailText) ?? null);
  if (emailText !== null && email === null) find('email', 'invalid_email', 'is not an email address');
  const phone = phoneText === null ? null : (phoneNumber(phoneText, country) ?? null);
  if (phoneText !== null && phone === null) find('phone', 'invalid_phone', phoneProblem(phoneText, country));
  if (timezone !== null && !isIanaZone(timezone)) {
    find('timezone', 'invalid_timezone', 'is not an IANA time zone such as Europe/Rome');
  }
  const locale = localeText === null ? null : (localeTag(localeText) ?? null);
  if (localeText !== null && locale === null) {
    find('locale', 'invalid_locale', 'is not a language tag such as en-GB');
  }
  const params = readParams(raw.params, find);
  for (const key of Object.keys(raw)) {
    if (key !== 'params' && !(CONTACT_FIELDS as readonly string[]).includes(key)) {
      find(
        key.slice(0, LIMITS.paramsKeyChars),
        'unknown_field',
        'is no field of a contact; other values go into params',
      );
    }
  }
  if (emailText === null && phoneText === null && findings.length === 0)
    find('email', 'no_address', 'a contact needs an email address or a phone number');
  if (findings.length > 0) return { findings };
  return {
    row: {
      identity: identityOf(externalId, email, phone),
      externalId,
      name,
      email,
      phone,
      timezone,
      locale,
      params,
    },
  };
}

/** The key by which two rows mean the same contact of a workspace. */
function identityOf(externalId: string | null, email: string | null, phone: string | null): string {
  if (externalId !== null) return `x:${externalId}`;
  return email !== null ? `e:${email.toLowerCase()}` : `p:${phone}`;
}

type Find = (field: string, code: string, message: string) => null;

/** Spreadsheets quote names that hold a line break. A name is one line, because it may stand in a subject. */
const LINE_BREAKS = /\s*[\r\n\u0085\u2028\u2029]\s*/g;

function readText(value: unknown, field: ContactField, find: Find): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') return find(field, 'not_a_string', 'must be a string');
  const text = (field === 'name' ? value.replace(LINE_BREAKS, ' ') : value).trim();
  if (text === '') return null;
  const max = CHARS_MAX[field];
  if (text.length > max) return find(field, 'too_long', `is longer than ${max} characters`);
  if (!isPlainText(text, { lines: false })) {
    return find(field, 'invalid_characters', 'holds line breaks or other control characters');
  }
  return text;
}

function readParams(value: unknown, find: Find): Record<string, string | number> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    find('params', 'not_an_object', 'must be an object of names and values');
    return {};
  }
  const entries = Object.entries(value);
  if (entries.length > LIMITS.paramsKeys) {
    find('params', 'too_many', `has more than ${LIMITS.paramsKeys} names`);
    return {};
  }
  const params: Record<string, string | number> = {};
  for (const [key, entry] of entries) {
    const problem = paramProblem(key, entry);
    if (problem) find(`params.${key.slice(0, LIMITS.paramsKeyChars)}`, problem.code, problem.message);
    else if (entry !== '' && entry !== null) params[key] = entry as string | number;
  }
  return params;
}

function paramProblem(key: string, value: unknown): { code: string; message: string } | undefined {
  if (key.length > LIMITS.paramsKeyChars || !PARAM_NAME.test(key)) {
    return {
      code: 'invalid_name',
      message: `a name has at most ${LIMITS.paramsKeyChars} upper-case letters, digits and underscores, a letter first`,
    };
  }
  if (value === null) return undefined;
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : { code: 'invalid_number', message: 'is not a finite number' };
  }
  if (typeof value !== 'string') return { code: 'invalid_value', message: 'must be a string or a number' };
  if (Buffer.byteLength(value) > LIMITS.paramsValueBytes) {
    return { code: 'too_long', message: `is longer than ${LIMITS.paramsValueBytes} bytes` };
  }
  if (!isPlainText(value, { lines: true })) {
    return { code: 'invalid_characters', message: 'holds control characters' };
  }
  return undefined;
}

function phoneProblem(text: string, country: CountryCode | undefined): string {
  const isNational = !text.startsWith('+') && !text.includes('@') && /\d/.test(text);
  return country || !isNational
    ? 'is not a phone number that can be dialled'
    : 'has no country: write it with + and the country code, or name a default, as by ?country=US or --country US';
}
