import { LIMITS } from '../../domain/limits';

/**
 * The session cookie (api.md 2): its names, how it is read and how it is set. Over https it has two names. Every
 * client of the API knows `session_token`; a browser also gets `__Host-session_token`, which no other host of the
 * domain can set, and which therefore counts first (docs/decisions/0045-two-names-of-the-cookie.md).
 */
const NAME = 'session_token';
const HOST_NAME = `__Host-${NAME}`;

export const sessionTokenOf = (cookieHeader: string | undefined): string | undefined =>
  cookieValue(cookieHeader, HOST_NAME) ?? cookieValue(cookieHeader, NAME);

/**
 * What a log-in at an OpenID provider needs when the browser comes back: sent to that path only. Over https its name has
 * a prefix, with which no page without https can set it.
 */
const CHECKS = 'oidc_checks';
const SECURE_CHECKS = `__Secure-${CHECKS}`;

export const checksOf = (cookieHeader: string | undefined): string | undefined =>
  cookieValue(cookieHeader, SECURE_CHECKS) ?? cookieValue(cookieHeader, CHECKS);

/** `Lax`, because the browser comes back from another site. */
export function checksCookie(value: string, { secure }: { secure: boolean }): string {
  const maxAge = value === '' ? 0 : LIMITS.oidcLogInSeconds;
  const attributes = `Path=/api/session/oidc; Max-Age=${maxAge}; HttpOnly; SameSite=Lax`;
  return secure ? `${SECURE_CHECKS}=${value}; ${attributes}; Secure` : `${CHECKS}=${value}; ${attributes}`;
}

function cookieValue(cookieHeader: string | undefined, name: string): string | undefined {
  if (cookieHeader === undefined) return undefined;
  for (const pair of cookieHeader.split(';')) {
    const equals = pair.indexOf('=');
    if (pair.slice(0, equals).trim() === name) return pair.slice(equals + 1).trim() || undefined;
  }
  return undefined;
}

/** Values of `set-cookie`. A lifetime of 0 makes the browser forget it. */
export function sessionCookies(token: string, options: { secure: boolean; maxAgeSeconds: number }): string[] {
  const attributes = `Path=/; Max-Age=${options.maxAgeSeconds}; HttpOnly; SameSite=Lax`;
  if (!options.secure) return [`${NAME}=${token}; ${attributes}`];
  return [NAME, HOST_NAME].map((name) => `${name}=${token}; ${attributes}; Secure`);
}
