/** One finding about a request, at its place. */
export interface Finding {
  path: string;
  code: string;
  message: string;
}

/** An answer of the API that is not a success: its problem document (RFC 9457), or the status when there is none. */
export class ApiProblem extends Error {
  override name = 'ApiProblem';

  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    detail: string,
    readonly requestId: string | undefined,
    readonly findings: readonly Finding[],
    /** Seconds, when the server says when another try is worth it. */
    readonly retryAfter: number | undefined,
  ) {
    super(detail);
  }
}

/** The request has not reached the server, or its answer has not reached us. */
export class Unreachable extends Error {
  override name = 'Unreachable';
}

/** The server may have got the request, and was not waited for any longer. */
export class NoAnswer extends Error {
  override name = 'NoAnswer';

  constructor(
    readonly seconds: number,
    options: ErrorOptions,
  ) {
    super('The server has not answered', options);
  }
}

export async function problemOf(response: Response): Promise<ApiProblem> {
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const text = (key: string) => (typeof body[key] === 'string' ? (body[key] as string) : undefined);
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
  return new ApiProblem(
    response.status,
    text('code') ?? 'unknown',
    text('title') ?? response.statusText,
    text('detail') ?? text('message') ?? response.statusText,
    response.headers.get('x-request-id') ?? text('instance'),
    Array.isArray(body.errors) ? body.errors.filter(isFinding) : [],
    Number.isFinite(retryAfter) ? retryAfter : undefined,
  );
}

function isFinding(value: unknown): value is Finding {
  if (typeof value !== 'object' || value === null) return false;
  const { path, code, message } = value as Record<string, unknown>;
  return typeof path === 'string' && typeof code === 'string' && typeof message === 'string';
}

/** Whether the server has judged the request and done nothing; other errors leave open what became of it. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof ApiProblem &&
  error.status < 500 &&
  ![408, 429].includes(error.status) &&
  !error.code.startsWith('idempotency_');

export const isProblem = (error: unknown, status?: number, code?: string): error is ApiProblem =>
  error instanceof ApiProblem &&
  (status === undefined || error.status === status) &&
  (code === undefined || error.code === code);
