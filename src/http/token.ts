import type { FastifyReply, FastifyRequest } from 'fastify';
import { CAPABILITIES, issuedToken, nothing, revokeBody, tokenBody, validTill } from '../contracts/token';
import { DomainError, isDomainError } from '../domain/errors';
import type { AccessTokens, KnownClient } from '../messaging/access/access-tokens';
import { EXAMPLE, NO_STORE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { OPEN } from './request/access';
import { callerAddress } from './request/caller-address';
import type { App } from './request/routing';
import { parseBody } from './request/validation';

declare module 'fastify' {
  interface FastifyRequest {
    client: KnownClient | undefined;
  }
}

/** messaging-service.md, Create token; api.md 3; revocation as in RFC 7009. */
export function tokenRoutes(tokens: AccessTokens): (app: App) => void {
  const config = { auth: 'open', oauth: true } as const;

  /** Before the body is read. These answers must not be cached (RFC 6749, 5). */
  const checkClient = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.header('cache-control', 'no-store');
    request.client = await tokens.checkClient({ ...basicOf(request), address: callerAddress(request) });
  };

  return (app) => {
    app.decorateRequest('client', undefined);

    const creating = {
      config,
      schema: { operation: createToken, body: tokenBody },
      attachValidation: true,
      onRequest: checkClient,
    };
    app.post('/api/v1/auth/token', creating, async (request) => {
      refuseOtherGrants(request.validationError);
      const token = await tokens.issueToken(clientOf(request), request.body.valid_hour);
      return {
        access_token: token.accessToken,
        valid_till: validTill(token.validTill),
        token_type: 'Bearer',
        expires_in: token.expiresInSeconds,
        capabilities: CAPABILITIES,
      };
    });

    app.register(async (scope) => {
      scope.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string' },
        (_request, text, done) => done(null, Object.fromEntries(new URLSearchParams(String(text)))),
      );
      scope.post(
        '/api/v1/auth/revoke',
        { config, schema: { operation: revokeToken }, onRequest: checkClient },
        async (request) => {
          // Another client's token, or an unknown one, is as invalid for this client as one that it ended.
          await tokens.revokeToken(clientOf(request), parseBody(revokeBody, request.body).token);
          return {};
        },
      );
    });
  };
}

/** OAuth has its own code for a wrong grant type, which says more than a wrong field. */
function refuseOtherGrants(finding: Error | undefined): void {
  if (finding === undefined) return;
  if (isDomainError(finding) && finding.errors.some(({ path }) => path === 'grant_type')) {
    throw new DomainError('unsupported_grant_type', 'grant_type must be client_credentials', {
      errors: finding.errors,
    });
  }
  throw finding;
}

function basicOf(request: FastifyRequest): { id: string; secret: string } {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(request.headers.authorization ?? '')?.[1];
  const [, id, secret] = /^([^:]+):(.+)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString('utf8')) ?? [];
  if (id && secret && !id.includes('\0')) return { id, secret };
  throw new DomainError('invalid_client', 'The client id and secret are needed in the Basic scheme');
}

function clientOf(request: FastifyRequest): KnownClient {
  if (!request.client) throw new DomainError('invalid_client', 'Client credentials are needed here');
  return request.client;
}

const createToken: Operation = {
  id: 'createToken',
  access: OPEN,
  tag: 'Authentication',
  summary: 'Create an access token',
  description:
    'The client id and secret come in the Basic scheme. The token is good until `valid_till`, until it is revoked, or until its client is disabled, whichever is first. `capabilities` says what this service does beyond the specification.',
  body: jsonBody(tokenBody, { day: { grant_type: 'client_credentials', valid_hour: 24 } }),
  answers: {
    200: json(
      'The token.',
      issuedToken,
      {
        access_token: EXAMPLE.token,
        valid_till: '2026-11-22 10:15:00',
        token_type: 'Bearer',
        expires_in: 86_400,
        capabilities: [...CAPABILITIES],
      },
      NO_STORE,
    ),
  },
  errors: ['unsupported_grant_type', 'too_many_attempts'],
};

const REVOKE = { token: EXAMPLE.token };

const revokeToken: Operation = {
  id: 'revokeToken',
  access: OPEN,
  tag: 'Authentication',
  summary: 'Revoke an access token',
  description:
    'RFC 7009: a token of the client that asks stops working at once here, and within 5 seconds on every process. One that is unknown is as dead already, so the answer is the same.',
  body: {
    content: {
      'application/json': { schema: revokeBody, examples: { token: REVOKE } },
      'application/x-www-form-urlencoded': {
        schema: revokeBody,
        examples: { token: REVOKE },
      },
    },
  },
  answers: { 200: json('It does not work any more.', nothing, {}, NO_STORE) },
  errors: ['too_many_attempts'],
};
