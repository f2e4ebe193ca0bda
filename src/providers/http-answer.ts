import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import type { HttpAnswer } from './http-exchange';
import type { HandOverResult } from './provider';

/** What a carrier says in its answer beside the status. A `code` is its own word about this message. */
export interface AnswerBody {
  id?: string | undefined;
  code?: string | undefined;
  message?: string | undefined;
}

type Meaning = 'accepted' | 'throttled' | 'transient' | 'rejected' | 'account' | 'account_or_recipient';

interface Line {
  from: number;
  to: number;
  /** Without a code of the carrier's own, and with one. */
  bare: Meaning;
  coded: Meaning;
}

const line = (from: number, to: number, bare: Meaning, coded: Meaning = bare): Line => ({
  from,
  to,
  bare,
  coded,
});

/** What an answer means, for every carrier over HTTP (api.md 12). The first line that fits decides. */
const LINES: readonly Line[] = [
  line(0, 299, 'accepted'),
  // A POST is not carried to another address unasked: an operator must correct ours.
  line(300, 399, 'account'),
  line(401, 403, 'account', 'rejected'),
  // The URL is wrong for every message, or the carrier has no such recipient. Only the results of other
  // messages show which.
  line(404, 405, 'account_or_recipient', 'rejected'),
  line(408, 408, 'transient'),
  line(425, 425, 'transient'),
  line(429, 429, 'throttled'),
  line(400, 499, 'rejected'),
  line(500, 999, 'transient'),
];

/** `told` is what the body says; `prefix` begins our code for a status that has none of the carrier's. */
export function resultOf(
  { status, retryAfter }: HttpAnswer,
  told: AnswerBody,
  { messageId, prefix }: { messageId: string; prefix: string },
): HandOverResult {
  const found = LINES.find(({ from, to }) => status >= from && status <= to);
  const meaning = (told.code === undefined ? found?.bare : found?.coded) ?? 'transient';
  const code = told.code ?? `${prefix}_${status}`;
  const message = told.message ?? `The carrier answered ${status}`;
  const retryAfterMs = parseRetryAfter(retryAfter, Date.now());
  switch (meaning) {
    case 'accepted':
      // A carrier that gives no id of its own can report receipts only by ours.
      return { kind: 'accepted', providerId: told.id ?? messageId };
    case 'throttled':
      return throttled(retryAfterMs);
    case 'transient':
      return { kind: 'transient', code, retryAfterMs };
    case 'rejected':
      return { kind: 'rejected', code, message };
    case 'account':
      return { kind: 'account', code, message };
    case 'account_or_recipient':
      return { kind: 'account', code, message, orRecipient: true };
  }
}

const THROTTLE_MS = 1_000;

/**
 * A throttled message spends no attempt. So a carrier that names no wait, or a date that is past by our clock, would be asked
 * again without a pause for as long as it throttles.
 */
export const throttled = (retryAfterMs: number | undefined): HandOverResult => ({
  kind: 'throttled',
  retryAfterMs: Math.max(retryAfterMs ?? 0, THROTTLE_MS),
});
const RETRY_AFTER_MAX_MS = 3_600_000;

const shortText = z
  .union([z.string().min(1), z.number()])
  .transform((value) => String(value).slice(0, LIMITS.providerIdChars))
  .optional()
  .catch(undefined);
const answerBody = z.object({ id: shortText, code: shortText, message: shortText });

/** A body as api.md 12 has it; one that is anything else says nothing. */
export function readBody(text: string): AnswerBody {
  try {
    return answerBody.parse(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Seconds or a date (RFC 9110, 10.2.3). */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined || value === '') return undefined;
  const seconds = Number(value);
  const ms = Number.isNaN(seconds) ? Date.parse(value) - nowMs : seconds * 1_000;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS);
}
