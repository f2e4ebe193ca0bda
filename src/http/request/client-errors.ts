import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { DomainError, ERRORS } from '../../domain/errors';
import { problemOf } from './problem';

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
  HPE_HEADER_OVERFLOW: new DomainError('headers_too_large', 'Path and headers are longer than is taken here'),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: new DomainError('body_too_large', 'The extensions of a chunk are too long'),
  ERR_HTTP_REQUEST_TIMEOUT: new DomainError('request_timeout', 'The request did not arrive in time'),
};
