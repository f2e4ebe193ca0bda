/**
 * The session cookie (api.md 2): its names, how it is read and how it is set. Over https it has two names. Every
 * client of the API knows `session_token`; a browser also gets `__Host-session_token`, which no other host of the
 * domain can set, and which therefore counts first (docs/decisions/0085-two-names-of-the-cookie.md).
 */
const NAME = 'session_token';
const HOST_NAME = `__Host-${NAME}`;

export function sessionTokenOf(cookieHeader: string | undefined): string | undefined {
  if (cookieHeader === undefined) return undefined;
  return cookieNamed(cookieHeader, HOST_NAME) ?? cookieNamed(cookieHeader, NAME);
}

function cookieNamed(cookieHeader: string, name: string): string | undefined {
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
