import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors';

export const READING = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses changes by cookie that another site has caused. A browser sends its cookie with such requests too,
 * but it also says where a request came from. Callers that are not browsers send neither header and pass.
 */
export function refuseCrossSite(request: FastifyRequest, publicOrigin: string | undefined): void {
  if (READING.has(request.method)) return;
  const { origin, host, 'sec-fetch-site': site } = request.headers;
  const ownSite = site === undefined || site === 'same-origin' || site === 'none';
  const ownOrigin = origin === undefined || origin === publicOrigin || hostOf(origin) === host;
  if (ownSite && ownOrigin) return;
  throw new DomainError(
    'cross_site',
    'This request was caused by another site; with a session cookie, make it from the console’s own address',
  );
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
