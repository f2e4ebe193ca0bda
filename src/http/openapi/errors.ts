import type { RouteOptions } from 'fastify';
import { oauthProblem, problem } from '../../contracts/problem';
import { DomainError, ERRORS, type ErrorCode } from '../../domain/errors';
import type { Access } from '../request/access';
import type { AuthKind } from '../request/caller';
import { problemOf } from '../request/problem';
import { READING } from '../request/same-origin';
import type { Operation } from './operation';
import { REQUEST_ID } from './parts';
import type { Schemas } from './schemas';
import type { ResponseObject } from './types';

/**
 * The errors of an operation by status: those that follow from the route's inputs and callers, and those that
 * the operation names. A 500 is not listed, because it is a bug.
 */
export function errorAnswers(
  route: RouteOptions,
  operation: Operation,
  schemas: Schemas,
  examples: ErrorExamples,
): Record<string, ResponseObject> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of new Set([...impliedBy(route, operation), ...(operation.errors ?? [])])) {
    const { status } = ERRORS[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const oauth = route.config?.oauth === true;
  const shape = schemas.of(oauth ? oauthProblem : problem, 'output');
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map((code) => `${ERRORS[code].title} (\`${code}\`).`).join(' '),
        headers: headersOf(status),
        content: {
          'application/problem+json': {
            schema: { allOf: [shape], properties: { code: { enum: codes } } },
            examples: Object.fromEntries(codes.map((code) => [code, examples.of(code, oauth)])),
          },
        },
      },
    ]),
  );
}

function impliedBy(route: RouteOptions, operation: Operation): ErrorCode[] {
  const { config = {}, schema = {} } = route;
  const changes = [route.method].flat().some((method) => !READING.has(method));
  return [
    ...(config.oauth ? (['invalid_client'] as const) : BY_CALLER[config.auth ?? 'open'](changes)),
    ...(isForKnownCallers(route) ? byAccess(route, operation.access) : []),
    ...(isForKnownCallers(route) && !config.oauth && operation.bound !== 'sending'
      ? (['too_many_requests'] as const)
      : []),
    ...(isForKnownCallers(route) ? (['dependency_down'] as const) : []),
    ...(operation.body ? BY_BODY : []),
    ...(schema.querystring ? (['invalid_request'] as const) : []),
    ...(schema.params ? (['not_found'] as const) : []),
    ...(schema.querystring || schema.params ? (['headers_too_large'] as const) : []),
    ...(config.idempotent ? BY_IDEMPOTENCY : []),
  ];
}

/** Callers are looked up in the database, which can be away for a moment. */
const isForKnownCallers = ({ config = {} }: RouteOptions): boolean =>
  config.oauth === true || (config.auth !== undefined && config.auth !== 'open');

const BY_BODY: ErrorCode[] = [
  'malformed_body',
  'request_timeout',
  'body_too_large',
  'unsupported_media_type',
  'invalid_request',
];

const BY_IDEMPOTENCY: ErrorCode[] = ['invalid_request', 'idempotency_key_reused', 'idempotency_in_progress'];

/** Only requests with a cookie can be caused by other sites, and only changes are refused for that. */
const byCookie = (changes: boolean): ErrorCode[] =>
  changes ? ['unauthenticated', 'user_mismatch', 'cross_site'] : ['unauthenticated', 'user_mismatch'];

/** Viewers and those above them are all users, so that no user is refused where that is enough. */
function byAccess({ config = {} }: RouteOptions, { role, scopes, more }: Access): ErrorCode[] {
  const roles = [role, more?.role].some((lowest) => lowest !== undefined && lowest !== 'viewer');
  const takesClients = config.auth !== 'session' && !config.oauth;
  return [
    ...(roles ? (['forbidden'] as const) : []),
    ...(scopes ? (['scope_missing'] as const) : []),
    ...(takesClients && !scopes ? (['user_required'] as const) : []),
  ];
}

const BY_CALLER: Record<AuthKind, (changes: boolean) => ErrorCode[]> = {
  open: () => [],
  app: byCookie,
  campaign: (changes) => [...byCookie(changes), 'invalid_request'],
  send: () => ['unauthenticated', 'forbidden'],
  session: byCookie,
  metrics: () => ['unauthenticated'],
};

function headersOf(status: number): Record<string, unknown> {
  return {
    ...REQUEST_ID,
    ...(status === 401 ? { 'www-authenticate': { $ref: '#/components/headers/WwwAuthenticate' } } : {}),
    ...(status === 429 || status === 503
      ? { 'retry-after': { $ref: '#/components/headers/RetryAfter' } }
      : {}),
  };
}

/** One example for each code, created by the code that creates the answers; operations refer to them. */
export interface ErrorExamples {
  of(code: ErrorCode, oauth: boolean): { $ref: string };
  components(): Record<string, { value: unknown }>;
}

export function createErrorExamples(): ErrorExamples {
  const components: Record<string, { value: unknown }> = {};
  return {
    of(code, oauth) {
      const name = oauth ? `oauth.${code}` : code;
      const error = new DomainError(code, `${ERRORS[code].title}: what exactly, and what to do`);
      components[name] = {
        value: problemOf(error, { instance: '6f0c9a52-3f4e-4c0b-9d59-2f6f3a1c7e80', oauth }),
      };
      return { $ref: `#/components/examples/${name}` };
    },
    components: () => components,
  };
}
