import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError, ERRORS, type ErrorCode, isDomainError } from '../../domain/errors';
import type { Log } from '../../log';
import { isUnavailable } from '../../messaging/model/database-error';
import type { App } from './routing';

/**
 * The only place that turns an error into an answer: RFC 9457, with the members of the specification's own
 * answers (`result`, `status`, `message`, `success`) in the same object (api.md 1).
 */
export function answerErrors(app: App, log: Log): void {
  app.setErrorHandler((error, request, reply) => sendProblem(error, request, reply, log));
}

/** Also for errors before a route is chosen, when no error handler applies. */
export function sendProblem(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  const known = isDomainError(error)
    ? error
    : (fromFramework(error as FastifyError, request) ?? fromDatabase(error));
  if (known?.code === 'dependency_down') {
    if (!request.routeOptions.config.isProbe)
      log.warn({ err: error, requestId: request.id }, 'a request met a dependency that is down');
  } else if (!known) log.error({ err: error, requestId: request.id }, 'a request failed unexpectedly');
  const told = known ?? UNEXPECTED;
  const { retryAfterSeconds } = told;
  const { status } = ERRORS[told.code];

  const oauth = request.routeOptions.config.oauth === true;
  if (status === 401) reply.header('www-authenticate', `${oauth ? 'Basic' : 'Bearer'} realm="fanfare"`);
  if (status === 429 || status === 503 || retryAfterSeconds !== undefined) {
    reply.header('retry-after', Math.ceil(retryAfterSeconds ?? 1));
  }
  const body = problemOf(told, { instance: request.id, oauth });
  reply.code(status).type('application/problem+json').send(body);
}

/** The body of an error answer. */
export function problemOf(
  { code, message, errors, phase, scope }: DomainError,
  { instance, oauth }: { instance: string; oauth: boolean },
) {
  const { title, status } = ERRORS[code];
  return {
    type: `/docs/errors#${code}`,
    title,
    status,
    code,
    detail: message,
    instance,
    errors,
    result: 'error',
    message,
    success: false,
    ...(phase ? { phase } : {}),
    ...(scope ? { scope } : {}),
    ...(oauth ? { error: oauthError(code) } : {}),
  };
}

const UNEXPECTED = new DomainError('internal', 'Something went wrong on our side; the log has the details');

const FRAMEWORK_ERRORS: Record<string, { code: ErrorCode; message: string }> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    message:
      'The body has a content type that this path does not take; /openapi.json lists those that it takes',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed_body',
    message: 'The body is not as long as its Content-Length says',
  },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'not_found', message: 'The path is longer than any there is' },
  FST_ERR_BAD_URL: { code: 'not_found', message: 'The path is not a valid one' },
};

/** `undefined` for an unexpected error. */
function fromFramework(error: FastifyError, { routeOptions }: FastifyRequest): DomainError | undefined {
  if (error?.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const message = `The body is larger than the ${routeOptions.bodyLimit} bytes that this path takes; send a smaller one, or several`;
    return new DomainError('body_too_large', message, { cause: error });
  }
  const match = FRAMEWORK_ERRORS[error?.code];
  return match && new DomainError(match.code, match.message, { cause: error });
}

function fromDatabase(error: unknown): DomainError | undefined {
  if (!isUnavailable(error)) return undefined;
  return new DomainError(
    'dependency_down',
    'The database could not do this now; repeat the call in a moment',
    {
      cause: error,
      retryAfterSeconds: 1,
    },
  );
}

/** The `error` member that OAuth 2 clients of the token endpoint read (RFC 6749, 5.2). */
function oauthError(code: ErrorCode): string {
  if (code === 'invalid_client' || code === 'unsupported_grant_type') return code;
  return ERRORS[code].status >= 500 ? 'server_error' : 'invalid_request';
}

/**
 * Answers bytes that are not HTTP, and headers that are too long or too slow, so that they reach neither a
 * route nor the error handler. The connection is closed, because the beginning of the next request is unknown.
 */
export function answerClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  // Node's own name for the answer that is being written. Once begun, it must not get another one in its
  // middle.
  const { _httpMessage: underWay } = socket as Socket & { _httpMessage?: { headersSent: boolean } | null };
  if (socket.writable && !underWay?.headersSent) socket.write(answerTo(error.code));
  socket.destroy(error);
}

function answerTo(code: string | undefined): string {
  const told = PROBLEMS[code ?? ''] ?? NO_REQUEST;
  const { status } = ERRORS[told.code];
  const requestId = randomUUID();
  const body = JSON.stringify(problemOf(told, { instance: requestId, oauth: false }));
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/problem+json; charset=utf-8',
    'x-content-type-options: nosniff',
    'cache-control: no-store',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    'connection: close',
    '',
    body,
  ].join('\r\n');
}

const NO_REQUEST = new DomainError('malformed_request', 'What came is not a valid HTTP request');

const PROBLEMS: Record<string, DomainError> = {
  HPE_HEADER_OVERFLOW: new DomainError(
    'headers_too_large',
    'Path and headers are longer than is taken here; send fewer or shorter ones',
  ),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new DomainError(
    'body_too_large',
    'The extensions of a chunk are too long; leave them out',
  ),
  ERR_HTTP_REQUEST_TIMEOUT: new DomainError(
    'request_timeout',
    'The request did not arrive in time; send it again',
  ),
};
