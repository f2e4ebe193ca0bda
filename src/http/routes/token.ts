import type { FastifyRequest } from 'fastify';
import { CAPABILITIES, tokenBody, validTill } from '../../contracts/token';
import { DomainError, isDomainError } from '../../domain/errors';
import type { AccessTokens } from '../../messaging/access-tokens';
import type { App } from '../routing';

/** messaging-service.md, Create token; api.md 3. */
export function tokenRoutes(tokens: AccessTokens): (app: App) => void {
  return (app) => {
    app.post(
      '/api/v1/auth/token',
      {
        config: { auth: 'open', oauth: true },
        schema: { body: tokenBody },
        attachValidation: true,
        onRequest: async (request) => {
          const { id, secret } = clientOf(request);
          await tokens.checkClient(id, secret);
        },
      },
      async (request, reply) => {
        refuseOtherGrants(request.validationError);
        const { id, secret } = clientOf(request);
        const token = await tokens.issueToken(id, secret, request.body.valid_hour);
        return reply.header('cache-control', 'no-store').send({
          access_token: token.accessToken,
          valid_till: validTill(token.validTill),
          token_type: 'Bearer',
          expires_in: token.expiresInSeconds,
          capabilities: CAPABILITIES,
        });
      },
    );
  };
}

/** OAuth has a code of its own for a wrong grant type, and it says more than a wrong field would. */
function refuseOtherGrants(finding: Error | undefined): void {
  if (finding === undefined) return;
  if (isDomainError(finding) && finding.errors.some(({ path }) => path === 'grant_type')) {
    throw new DomainError('unsupported_grant_type', 'grant_type must be client_credentials', {
      errors: finding.errors,
    });
  }
  throw finding;
}

function clientOf(request: FastifyRequest): { id: string; secret: string } {
  const encoded = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(request.headers.authorization ?? '')?.[1];
  const [, id, secret] = /^([^:]+):(.+)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString('utf8')) ?? [];
  if (id && secret && !id.includes('\0')) return { id, secret };
  throw new DomainError('invalid_client', 'The client id and secret are needed in the Basic scheme');
}
