import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import type { HandOverResult } from './provider';

export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** What a carrier's answer to one message means (api.md 12). */
export function resultOf({ status, headers, text }: HttpAnswer, messageId: string): HandOverResult {
  const told = parse(text);
  const retryAfterMs = parseRetryAfter(headers['retry-after'], Date.now());
  const code = told.code ?? `http_${status}`;
  // A carrier that gives no id of its own has only ours to tell receipts by.
  if (status < 300) return { kind: 'accepted', providerId: told.id ?? messageId };
  if (status === 429) return { kind: 'throttled', retryAfterMs: retryAfterMs ?? THROTTLE_MS };
  if (status >= 500) return { kind: 'transient', code, retryAfterMs };
  if (status >= 400)
    return { kind: 'rejected', code, message: told.message ?? `The carrier answered ${status}` };
  // Elsewhere is where a person must send us: a POST is not carried to another address unasked.
  return { kind: 'account', code, message: `The carrier answered ${status}: its address has changed` };
}

const THROTTLE_MS = 1_000;
const RETRY_AFTER_MAX_MS = 3_600_000;

const shortText = z
  .union([z.string().min(1), z.number()])
  .transform((value) => String(value).slice(0, LIMITS.providerIdChars))
  .optional()
  .catch(undefined);
const answerBody = z.object({ id: shortText, code: shortText, message: shortText });

function parse(text: string): z.output<typeof answerBody> {
  try {
    return answerBody.parse(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Seconds or a date (RFC 9110, 10.2.3). */
function parseRetryAfter(value: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const seconds = Number(value);
  const ms = Number.isNaN(seconds) ? Date.parse(value) - nowMs : seconds * 1_000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS);
}
