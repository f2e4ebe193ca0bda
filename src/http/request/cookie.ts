/** The session cookie (api.md 2): its name, how it is read and how it is set. */
const NAME = 'session_token';

export function sessionTokenOf(cookieHeader: string | undefined): string | undefined {
  if (cookieHeader === undefined) return undefined;
  for (const pair of cookieHeader.split(';')) {
    const equals = pair.indexOf('=');
    if (pair.slice(0, equals).trim() === NAME) return pair.slice(equals + 1).trim() || undefined;
  }
  return undefined;
}

/** A lifetime of 0 makes the browser forget it. */
export function sessionCookie(token: string, options: { secure: boolean; maxAgeSeconds: number }): string {
  const secure = options.secure ? '; Secure' : '';
  return `${NAME}=${token}; Path=/; Max-Age=${options.maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`;
}
