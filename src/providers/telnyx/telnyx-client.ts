import type { HttpAnswer } from '../http-answer';
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
  return {
    kind: 'refused',
    code: wordIn(error.code, 40),
    message: wordIn(error.detail) ?? wordIn(error.title),
  };
}

export const firstError = (body: Record<string, unknown>): Record<string, unknown> | undefined =>
  Array.isArray(body.errors) && body.errors.length > 0 ? objectAt(body.errors[0]) : undefined;

export const objectAt = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
