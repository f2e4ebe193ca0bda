import type { HttpAnswer } from '../http-exchange';
import { type JsonClient, openJsonClient } from '../vendor/json-client';
import type { VendorAccount } from '../vendor/vendor';
import { objectIn, type VendorWord, wordIn } from '../vendor/vendor-answer';

const TELNYX_URL = 'https://api.telnyx.com/v2';

export const openTelnyxClient = (
  { settings, secrets }: VendorAccount,
  answerMs: number | undefined,
): JsonClient =>
  openJsonClient({
    base: settings.url ?? TELNYX_URL,
    authorization: () => `Bearer ${secrets.apiKey}`,
    answerMs,
  });

export function readTelnyx({ status, text }: HttpAnswer): VendorWord {
  const body = objectIn(text);
  if (!body) return { kind: 'not_the_vendor' };
  if (status < 300) {
    const data = objectAt(body.data);
    const providerId = wordIn(data.id) ?? wordIn(data.call_control_id);
    if (providerId === undefined) return { kind: 'not_the_vendor' };
    const segments = Number(data.parts);
    return { kind: 'taken', providerId, data: segments > 0 ? { segments } : undefined };
  }
  const error = firstError(body);
  if (!error) return { kind: 'not_the_vendor' };
  const message = wordIn(error.detail) ?? wordIn(error.title);
  return { kind: 'refused', code: dialCode(error) ?? wordIn(error.code, 40), message };
}

/**
 * Telnyx refuses calls with one code (10010) for whatever reason, of the recipient, the caller, or how many calls there are. The
 * reason stands behind the words: `Dialed number is not included in whitelisted countries D13`.
 */
const dialCode = ({ title, detail }: Record<string, unknown>): string | undefined =>
  [title, detail].map((words) => /\s(D\d{1,2})\.?$/.exec(wordIn(words) ?? '')?.[1]).find(Boolean);

export const firstError = (body: Record<string, unknown>): Record<string, unknown> | undefined =>
  Array.isArray(body.errors) && body.errors.length > 0 ? objectAt(body.errors[0]) : undefined;

/** 40300 is said of other things too, so that its words decide. */
export const saysOptedOut = (error: Record<string, unknown> | undefined): boolean =>
  error?.code === '40300' && /\bSTOP\b|opt(ed)?[ -]?out/i.test(`${error.title} ${error.detail}`);

export const objectAt = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
