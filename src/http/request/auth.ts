import type { FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Scope } from '../../domain/access';
import { DomainError, type FieldError, isDomainError } from '../../domain/errors';
import { type MaybePromise, whenDone } from '../../domain/maybe-promise';
import { type Access, requireAccess } from './access';
import type { Authenticator, AuthKind, Caller } from './caller';
import { sessionTokenOf } from './cookie';
import { type App, addRouteHooks } from './routing';
import { refuseCrossSite } from './same-origin';
import { invalidRequest } from './validation';

/**
 * Checks each request against its route's `config.auth` and its operation's `access` before the body is read. A
 * route without a kind, or one for known callers without `access`, is refused at registration, so that none is
 * open by mistake.
 */
export function checkCallers(app: App, authenticator: Authenticator, publicUrl: string | undefined): void {
  const publicOrigin = publicUrl && new URL(publicUrl).origin;
  app.decorateRequest('caller', undefined);

  app.addHook('onRoute', (route) => {
    const { url, config, schema } = route;
    if (!config?.auth) throw new Error(`Route ${url} does not say who may call it`);
    const { access, bound } = schema?.operation ?? {};
    if (access) config.access = access;
    if (bound) config.bound = bound;
    if (config.auth === 'open') return;
    if (!config.access) throw new Error(`Route ${url} does not say what it needs`);
    if (route.onRequest)
      throw new Error(`Route ${url} has a hook that would run before its caller is checked`);
    addRouteHooks(route, { onRequest: callerCheck(config.auth, config.access, config.enrols === true) });
  });

  const callerCheck =
    (kind: Exclude<AuthKind, 'open'>, access: Access, enrols: boolean): onRequestHookHandler =>
    (request, _reply, done) => {
      if (kind === 'metrics' && isFromHere(request)) return done();
      let checked: MaybePromise<void>;
      try {
        checked = whenDone(ADMIT[kind](request, authenticator), (caller) =>
          admit(request, caller, access, enrols),
        );
      } catch (error) {
        return done(error as Error);
      }
      if (checked instanceof Promise) checked.then(() => done(), done);
      else done();
    };

  function admit(request: FastifyRequest, caller: Caller, access: Access, enrols: boolean): void {
    if (caller.via === 'cookie') refuseCrossSite(request, publicOrigin);
    requireAccess(caller, access);
    request.caller = caller;
    if (caller.mustEnrol && !enrols) {
      throw new DomainError(
        'enrolment_required',
        'Set up one-time codes first (POST /api/session/totp); this role needs them here',
      );
    }
  }

  app.decorate('stillAdmits', async (request) => {
    const kind = request.routeOptions.config.auth;
    if (kind === undefined || kind === 'open' || kind === 'metrics') return true;
    try {
      const caller = await ADMIT[kind](request, authenticator);
      requireAccess(caller, needsOf(request));
      // A user whose addresses are masked from now on must not read on without the mask.
      return caller.workspaceId === request.caller?.workspaceId && caller.role === request.caller.role;
    } catch (error) {
      // If credentials cannot be checked now (database down), keep the connection open.
      return !isDomainError(error);
    }
  });
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether the credentials of a long request are still valid. */
    stillAdmits(request: FastifyRequest): Promise<boolean>;
  }
}

type Admit = (request: FastifyRequest, authenticator: Authenticator) => MaybePromise<Caller>;

const ADMIT: Record<Exclude<AuthKind, 'open'>, Admit> = {
  app: byBearerOrCookie,
  campaign: async (request, authenticator) => {
    const caller = await byBearerOrCookie(request, authenticator);
    const actingUser = actingUserOf(request);
    if (caller.via === 'bearer') return { ...caller, userId: actingUser };
    if (actingUser === undefined) {
      const missing: FieldError = {
        path: 'x-user-id',
        code: 'required',
        message: 'This header is required with a cookie',
      };
      throw invalidRequest([missing]);
    }
    return caller;
  },
  send: (request, authenticator) => {
    const token = bearerOf(request);
    const key = request.headers['x-api-key'];
    if (token === undefined || typeof key !== 'string') throw noCredentials('An API key and a Bearer token');
    const caller = authenticator.byAccessToken(token);
    const holder = authenticator.byApiKey(key);
    if (caller instanceof Promise || holder instanceof Promise) {
      return Promise.all([caller, holder]).then((both) => sender(...both));
    }
    return sender(caller, holder);
  },
  session: (request, authenticator) => byCookie(request, authenticator, FOR_USERS),
  metrics: byBearer,
};

function sender(
  caller: Caller | undefined,
  holder: Pick<Caller, 'workspaceId' | 'scopes'> | undefined,
): Caller {
  if (!caller || !holder)
    throw refused('The API key or the Bearer token is', 'request a new token, or check the key');
  if (caller.workspaceId === holder.workspaceId) {
    return { ...caller, scopes: common(caller.scopes, holder.scopes) };
  }
  throw new DomainError(
    'forbidden',
    'The API key and the Bearer token belong to different workspaces; send two of the same workspace',
  );
}

/** The scopes that both have. The same list twice, as with all scopes, needs no comparison. */
const common = (some: readonly Scope[] = [], others: readonly Scope[] = []): readonly Scope[] =>
  some === others ? some : some.filter((scope) => others.includes(scope));

function needsOf({ routeOptions: { config, url } }: FastifyRequest): Access {
  if (!config.access) throw new Error(`Route ${url} does not say what it needs`);
  return config.access;
}

/** A local proxy also connects from this machine, on behalf of others, and its headers show that. */
function isFromHere({ socket, headers }: FastifyRequest): boolean {
  const address = socket.remoteAddress ?? '';
  if (!/^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/i.test(address)) return false;
  return !['x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via', 'x-real-ip'].some(
    (name) => name in headers,
  );
}

async function byBearer(request: FastifyRequest, authenticator: Authenticator): Promise<Caller> {
  const token = bearerOf(request);
  if (token === undefined) throw noCredentials('A Bearer token');
  const caller = await authenticator.byAccessToken(token);
  if (!caller) throw refused('The Bearer token is', 'request a new one');
  return caller;
}

/**
 * A Bearer token counts before a cookie, because the caller set it on purpose, while a browser sends the cookie
 * by itself.
 */
async function byBearerOrCookie(request: FastifyRequest, authenticator: Authenticator): Promise<Caller> {
  return bearerOf(request) === undefined
    ? byCookie(request, authenticator)
    : byBearer(request, authenticator);
}

const FOR_USERS = 'A session cookie, since this is for users and no client can do it,';

async function byCookie(
  request: FastifyRequest,
  authenticator: Authenticator,
  wanted = 'A session cookie or a Bearer token',
): Promise<Caller> {
  const token = sessionTokenOf(request.headers.cookie);
  if (token === undefined) throw noCredentials(wanted);
  const caller = await authenticator.bySession(token);
  if (!caller) throw refused('The session is', 'log in again');
  // Two pages of a browser share the cookie: one that still shows an earlier user's workspace must change nothing in
  // the workspace of the user who has logged in on the other.
  const named = request.headers['x-user-id'];
  if (named === undefined || named === '' || named === caller.userId) return caller;
  throw new DomainError(
    'user_mismatch',
    'x-user-id is not the user of this session; send the id that the log-in answered',
  );
}

export function bearerOf(request: FastifyRequest): string | undefined {
  return /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
}

function actingUserOf(request: FastifyRequest): string | undefined {
  const value = request.headers['x-user-id'];
  if (value === undefined || value === '') return undefined;
  if (typeof value === 'string' && /^[\x21-\x7e]{1,64}$/.test(value)) return value;
  throw invalidRequest([{ path: 'x-user-id', code: 'invalid_format', message: 'This is not a user id' }]);
}

const noCredentials = (what: string) => new DomainError('unauthenticated', `${what} is needed here`);
const refused = (whatIs: string, wayOut: string) =>
  new DomainError('unauthenticated', `${whatIs} unknown or no longer valid; ${wayOut}`);
