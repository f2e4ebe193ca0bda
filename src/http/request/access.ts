import type { FastifyRequest } from 'fastify';
import { hasRole, missingScope, type Needs } from '../../domain/access';
import { DomainError } from '../../domain/errors';
import type { Caller } from './caller';

/**
 * What an operation needs of its caller. It stands beside the operation, is checked here for every request
 * before the body is read, and is shown by docs/access.md and the API's document.
 */
export interface Access extends Needs {
  /** Some requests need this too, by what they ask for. The route calls `requireMore` for them. */
  more?: Needs & { when: string };
}

/** Every caller, also one without credentials, or one who proves itself to the route (a carrier, a subscriber). */
export const OPEN: Access = {};

/** Refuses a caller whose role or scopes do not reach. */
export function requireAccess(caller: Caller, { role, scopes }: Needs): void {
  if (caller.via === 'cookie') {
    if (role === undefined)
      throw new DomainError(
        'forbidden',
        'This call is for programs: make it with a Bearer token and an API key, not with a session',
      );
    if (caller.role && hasRole(caller.role, role)) return;
    throw new DomainError(
      'forbidden',
      `This needs a user with the role ${role} or above; your role is ${caller.role ?? 'none'}. Ask one of them to do it, or an ${role === 'owner' ? 'owner' : 'admin'} to give you the role`,
    );
  }
  if (scopes === undefined) {
    throw new DomainError('user_required', 'A client cannot do this; log in as a user');
  }
  const scope = missingScope(scopes, caller.scopes ?? []);
  if (scope === undefined) return;
  const message = `This needs the scope ${scope}, which the client or the API key does not have; an admin can make one that has it`;
  throw new DomainError('scope_missing', message, { scope });
}

/** For requests of which the operation's `access` says that they need more. */
export function requireMore(request: FastifyRequest): void {
  const more = request.routeOptions.config.access?.more;
  if (!more || !request.caller) throw new Error(`${request.routeOptions.url} names no further needs`);
  requireAccess(request.caller, more);
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Taken from the route's operation at registration. */
    access?: Access;
  }
}
