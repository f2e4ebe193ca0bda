import type { Phase } from '../domain/campaign';

/** One finding about one field of what was sent. */
export interface ValidationIssue {
  path: string;
  code: string;
  message: string;
}

/** An answer that says no, or none at all: then `status` is 0 and `code` is `connection_lost`. */
export class FanfareError extends Error {
  /** One of docs/errors.md. */
  readonly code: string;
  readonly status: number;
  /** When to try again, if the server says. */
  readonly retryAfterMs: number | undefined;
  /** Everything that was found, not only the first. */
  readonly errors: ValidationIssue[];
  /** With `illegal_transition`: the phase of the campaign, which does not allow the call. */
  readonly phase: Phase | undefined;
  /** With `scope_missing`: the scope that the client or the key lacks. */
  readonly scope: string | undefined;
  /** The server's log has the request under this id. */
  readonly requestId: string | undefined;

  constructor(
    message: string,
    details: {
      code: string;
      status: number;
      retryAfterMs?: number;
      errors?: ValidationIssue[];
      phase?: Phase | undefined;
      scope?: string | undefined;
      requestId?: string | undefined;
      cause?: unknown;
    },
  ) {
    super(message, { cause: details.cause });
    this.name = 'FanfareError';
    this.code = details.code;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.errors = details.errors ?? [];
    this.phase = details.phase;
    this.scope = details.scope;
    this.requestId = details.requestId;
  }

  /** Whether the very same call may succeed a little later. */
  get isForTheMoment(): boolean {
    const { status, code } = this;
    return (
      status === 0 || status === 408 || status === 429 || status >= 500 || code === 'idempotency_in_progress'
    );
  }
}

/**
 * The error of an answer that is no success. An answer without a problem document comes from a proxy in
 * between.
 */
export async function refusal(what: string, answer: Response): Promise<FanfareError> {
  const text = await answer.text().catch(() => '');
  let said: Partial<
    Record<'code' | 'detail' | 'message' | 'errors' | 'phase' | 'scope' | 'instance', unknown>
  > = {};
  try {
    said = (JSON.parse(text) as typeof said | null) ?? {};
  } catch {
    // A page of a proxy, as a rule.
  }
  const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  const told = [said.detail, said.message].find((one) => typeof one === 'string' && one !== '');
  return new FanfareError(`${what} answered ${answer.status}: ${told ?? 'no explanation'}`, {
    code: textOf(said.code) ?? `http_${answer.status}`,
    status: answer.status,
    ...(Number.isFinite(seconds) ? { retryAfterMs: seconds * 1000 } : {}),
    errors: Array.isArray(said.errors) ? (said.errors as ValidationIssue[]) : [],
    phase: textOf(said.phase) as Phase | undefined,
    scope: textOf(said.scope),
    requestId: textOf(said.instance) ?? answer.headers.get('x-request-id') ?? undefined,
  });
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
