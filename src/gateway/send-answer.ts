import { isDomainError, retryClassOf } from '../domain/errors';
import type { SendAnswer } from './gateway';
import { type HttpAnswer, NoAnswer, retryAfterMs } from './transport';

/** Long enough for an outbox to drain a little, short enough not to idle. */
const RETRY_DEFAULT_MS = 1_000;
/** As long as a restart takes, and rare enough to be repeated for minutes. */
const STRANGE_RETRY_MS = 10_000;

/**
 * The meaning of the service's answer to one message (api.md 4; elsewhere by the statuses of
 * messaging-service.md).
 */
export function messageAnswer(answer: HttpAnswer): SendAnswer {
  const body = answer.body as { code?: string; data?: { state?: string } } | undefined;
  return classify(answer.status, body?.code, body?.data?.state, retryAfterMs(answer, RETRY_DEFAULT_MS));
}

/**
 * The meaning of an answer that does not come from a messaging service. While other messages are accepted, the
 * cause may be the message itself. It then counts as a temporary refusal, so that its attempts have an end.
 */
export function strangeAnswer(answer: HttpAnswer, lasts: boolean): SendAnswer {
  if (lasts) return { kind: 'account', code: 'service_not_found' };
  const retryAfter = retryAfterMs(answer, STRANGE_RETRY_MS);
  return { kind: 'later', code: `http_${answer.status}`, retryAfterMs: retryAfter, because: 'refused' };
}

/** `known`: the meaning, if it is known already whatever the body says. */
export function bulkAnswers(answer: HttpAnswer, count: number, known?: SendAnswer): SendAnswer[] {
  const results = (answer.body as { data?: { results?: BulkResult[] } } | undefined)?.data?.results;
  if (answer.status === 207 && results?.length === count) {
    return results.map((result) => classify(result.status, result.code, result.state, RETRY_DEFAULT_MS));
  }
  const each = ofWhole(known ?? messageAnswer(answer));
  return Array.from({ length: count }, () => each);
}

/** A request refused as a whole says nothing about its messages; an invalid request is our own mistake. */
function ofWhole(whole: SendAnswer): SendAnswer {
  if (whole.kind === 'rejected') {
    return { kind: 'later', code: whole.code, retryAfterMs: 10_000, because: 'down' };
  }
  return whole.kind === 'later' && whole.because === 'refused' ? { ...whole, because: 'down' } : whole;
}

interface BulkResult {
  status: number;
  state?: string;
  code?: string;
}

function classify(
  status: number,
  code: string | undefined,
  state: string | undefined,
  delayMs: number,
): SendAnswer {
  if (status >= 200 && status < 300)
    return state === 'suppressed' ? { kind: 'suppressed' } : { kind: 'accepted' };
  if (status === 401 || status === 403) return { kind: 'account', code: code ?? 'unauthenticated' };
  // 402: our account has no credit, so that the answer says nothing about the recipient.
  if (status === 402) return { kind: 'account', code: code ?? 'provider_account' };
  // We alone choose our uids, so a conflict means that the service has the message already.
  if (status === 409 && code === 'uid_conflict') return { kind: 'accepted' };
  // A proxy gave up waiting; the service itself may have accepted the message.
  if (status === 502 || status === 504) return { kind: 'unknown' };
  if (status === 408 || status === 429 || status >= 500) {
    return {
      kind: 'later',
      code: code ?? (status === 429 ? 'provider_throttled' : 'dependency_down'),
      retryAfterMs: delayMs,
      because: status === 429 || retryClassOf(code) === 'throttled' ? 'throttled' : 'refused',
    };
  }
  // This message is not the cause: all other messages of the sender are refused too.
  if (code !== undefined && retryClassOf(code) === 'account') return { kind: 'account', code };
  return { kind: 'rejected', code: code ?? `http_${status}` };
}

/** The same as an unreached service: no attempt is counted, and the recipient waits for a page. */
export const NOT_SENT: SendAnswer = { kind: 'later', code: 'stopped', retryAfterMs: 0, because: 'down' };

/** Without a token no message was sent. Without an answer it depends on whether the request was offered. */
export function lostAnswer(error: unknown): SendAnswer {
  if (error instanceof NoAnswer && error.offered) return { kind: 'unknown' };
  if (isDomainError(error) && retryClassOf(error.code) === 'account') {
    return { kind: 'account', code: error.code };
  }
  return { kind: 'later', code: 'dependency_down', retryAfterMs: 1_000, because: 'down' };
}
