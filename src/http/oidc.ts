import { z } from 'zod';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import type { Sealing } from '../messaging/access/sealing';
import type { Sessions } from '../messaging/access/sessions';
import type { LoginChecks, OidcProvider } from '../oidc/oidc-provider';
import type { Operation } from './openapi/operation';
import { OPEN } from './request/access';
import { originOf } from './request/caller-address';
import { checksCookie, checksOf, sessionCookies, sessionTokenOf } from './request/cookie';
import type { App } from './request/routing';

export interface OidcRoutesDeps {
  /** Without one, both paths are 404. */
  provider: OidcProvider | undefined;
  sessions: Pick<Sessions, 'loginByProvider' | 'logout'>;
  sealing: Sealing;
  /** The address that browsers use. */
  publicUrl: () => string;
  log: Log;
}

const tag = 'Authentication';
const CALLBACK = '/api/session/oidc/callback';
const CONSOLE = '/console/';

const beginOidcLogIn: Operation = {
  id: 'beginOidcLogIn',
  access: OPEN,
  tag,
  summary: 'Log in at the OpenID provider',
  description:
    'For browsers: redirects to the provider of `FANFARE_OIDC_ISSUER`, and 404 where none is configured. Authorization code with PKCE, state and nonce, which are kept, encrypted, in a cookie of ten minutes. `back` is the path of the console to return to, such as `/campaigns`.',
  answers: {
    303: {
      description: 'To the provider, or to the console with an error.',
      content: {},
      headers: { location: 'Where to.' },
    },
  },
  errors: ['not_found'],
};

const finishOidcLogIn: Operation = {
  id: 'finishOidcLogIn',
  access: OPEN,
  tag,
  summary: 'Come back from the OpenID provider',
  description:
    'For browsers: where the provider redirects to. A user is found by an email address that the provider says is verified; none is created. Leads to the console, with the session cookie or with `?error=<code>`: `oidc_denied`, `oidc_failed`, `oidc_unavailable`, `oidc_email_unverified` or `oidc_unknown_user`.',
  answers: {
    303: {
      description: 'To the console.',
      content: {},
      headers: { location: 'Where to.', 'set-cookie': 'The session, if there is one.' },
    },
  },
  errors: ['not_found'],
};

const config = { auth: 'open' } as const;
const LEAVING = { operation: beginOidcLogIn, querystring: z.looseObject({ back: z.string().optional() }) };
const COMING = { operation: finishOidcLogIn, querystring: z.looseObject({}) };
const SESSION_SECONDS = LIMITS.sessionDaysMax * 86_400;

type Refusal =
  | 'oidc_denied'
  | 'oidc_failed'
  | 'oidc_unavailable'
  | 'oidc_email_unverified'
  | 'oidc_unknown_user';

/** Log-ins by OpenID Connect (api.md 17). Whatever goes wrong, a person is looking: they are led to the console. */
export function oidcRoutes(deps: OidcRoutesDeps): (app: App) => void {
  const { provider, sessions, sealing, publicUrl, log } = deps;
  const secure = () => publicUrl().startsWith('https:');
  const refused = (code: Refusal) => `${CONSOLE}?error=${code}`;

  return (app) => {
    app.get('/api/session/oidc', { config, schema: LEAVING }, async (request, reply) => {
      if (!provider) throw notConfigured();
      reply.header('cache-control', 'no-store');
      const back = BACK.parse(request.query.back);
      try {
        const { url, checks } = await provider.begin(publicUrl() + CALLBACK);
        const sealed = sealChecks(sealing, { ...checks, back });
        reply.header('set-cookie', checksCookie(sealed, { secure: secure() }));
        return reply.redirect(url, 303);
      } catch (error) {
        log.warn({ err: error, requestId: request.id }, 'A log-in at the OpenID provider could not be begun');
        return reply.redirect(refused('oidc_unavailable'), 303);
      }
    });

    app.get(CALLBACK, { config, schema: COMING }, async (request, reply) => {
      if (!provider) throw notConfigured();
      const forgotten = checksCookie('', { secure: secure() });
      reply.header('cache-control', 'no-store');
      const query = new URL(request.raw.url ?? '', publicUrl()).searchParams;
      const checks = openChecks(sealing, checksOf(request.headers.cookie));
      if (!checks || query.get('state') !== checks.state) return reply.redirect(refused('oidc_failed'), 303);
      // Kept until here, so that the answer to one page does not end the log-in that began later on another.
      reply.header('set-cookie', forgotten);
      if (query.has('error')) return reply.redirect(refused('oidc_denied'), 303);

      const email = await provider
        .finish(`${publicUrl()}${CALLBACK}?${query}`, checks)
        .catch((error: unknown) => {
          log.warn({ err: error, requestId: request.id }, 'A log-in by the OpenID provider was refused');
          return { refusal: provider.isAway(error) ? 'oidc_unavailable' : 'oidc_failed' } as const;
        });
      if (typeof email === 'object') return reply.redirect(refused(email.refusal), 303);
      if (email === undefined) return reply.redirect(refused('oidc_email_unverified'), 303);
      const token = await sessions.loginByProvider(email, originOf(request));
      if (token === undefined) return reply.redirect(refused('oidc_unknown_user'), 303);
      // The browser forgets the session that it had, so that it must not go on without one.
      const before = sessionTokenOf(request.headers.cookie);
      if (before !== undefined) await sessions.logout(before);
      const cookies = sessionCookies(token, { secure: secure(), maxAgeSeconds: SESSION_SECONDS });
      return reply
        .header('set-cookie', [forgotten, ...cookies])
        .redirect(CONSOLE + checks.back.slice(1), 303);
    });
  };
}

/** Only paths of the console, because `//elsewhere.example` would lead to another host; others lead to its start. */
const BACK = z
  .string()
  .regex(/^\/(?![/\\])[\x21-\x7e]*$/)
  .max(LIMITS.oidcBackChars)
  .catch('/');

const notConfigured = () =>
  new DomainError('not_found', 'No OpenID provider is configured here; log in by POST /api/session');

/** Sealed, because the verifier and the nonce are worth something to a reader of the cookie. */
const ABOUT = 'log-in at the OpenID provider';
const checksSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  back: BACK,
  keptUntil: z.number(),
});

type KeptChecks = LoginChecks & { back: string };

function sealChecks(sealing: Sealing, checks: KeptChecks): string {
  const keptUntil = Date.now() + LIMITS.oidcLogInSeconds * 1_000;
  return `${sealing.keyId}.${sealing.seal(JSON.stringify({ ...checks, keptUntil }), ABOUT)}`;
}

function openChecks(sealing: Sealing, cookie: string | undefined): KeptChecks | undefined {
  const [keyId = '', sealed = ''] = cookie?.split('.') ?? [];
  try {
    const { keptUntil, ...checks } = checksSchema.parse(JSON.parse(sealing.open(sealed, keyId, ABOUT)));
    return keptUntil > Date.now() ? checks : undefined;
  } catch {
    return undefined;
  }
}
