import type { FastifyRequest } from 'fastify';
import type { Role, Scope } from '../../domain/access';
import { DomainError } from '../../domain/errors';
import type { MaybePromise } from '../../domain/maybe-promise';

/**
 * The caller of a request, and the callers that a route admits (api.md 2). A route names its kind in
 * `config: { auth }`; the hook in http/auth.ts checks it before the body is parsed and sets `caller`. What the
 * caller may do there is the operation's `access`.
 *
 * - `open`      every caller
 * - `app`       session cookie or Bearer token
 * - `campaign`  as `app`; with a cookie also `x-user-id`, equal to the session's user
 * - `send`      `x-api-key` and Bearer token of the same workspace
 * - `session`   session cookie
 * - `metrics`   every caller on this machine without a proxy; otherwise Bearer token
 */
export type AuthKind = 'open' | 'app' | 'campaign' | 'send' | 'session' | 'metrics';

export interface Caller {
  workspaceId: string;
  /** The session's user, or the acting user that a Bearer caller named in `x-user-id`. */
  userId?: string | undefined;
  /** The session itself, with a cookie. */
  sessionId?: string | undefined;
  /** The session may only set up one-time codes (api.md 17). */
  mustEnrol?: boolean;
  /** The client whose Bearer token it is. */
  clientId?: string | undefined;
  /** Role of the session's user. */
  role?: Role | undefined;
  /** Scopes of the client. Where an API key is needed too, the scopes that both have. */
  scopes?: readonly Scope[] | undefined;
  via: 'cookie' | 'bearer';
}

/** Finds the holder of a credential for the HTTP layer; `undefined` means that it is not valid. */
export interface Authenticator {
  bySession(token: string): MaybePromise<Caller | undefined>;
  byAccessToken(token: string): MaybePromise<Caller | undefined>;
  byApiKey(key: string): MaybePromise<(Pick<Caller, 'workspaceId' | 'scopes'> & { id: string }) | undefined>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    auth?: AuthKind;
    /** Also for a session that may only set up one-time codes. */
    enrols?: true;
    /** Errors carry OAuth's `error` member, and 401 asks for Basic credentials. */
    oauth?: boolean;
    /** Asked every few seconds while something is away, so that its answer is not logged. */
    isProbe?: true;
  }
  interface FastifyRequest {
    caller: Caller | undefined;
  }
}

/** The caller of a route that is not open. */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new DomainError('unauthenticated', 'This route needs credentials');
  return request.caller;
}
