import type { Credentials } from './fanfare-process';

/** One call as a user who has logged in, as a browser would make it; anything else than a 2xx is an error. */
export async function asUser<Body>(
  baseUrl: string,
  { email, password }: { email: string; password: string },
  method: string,
  path: string,
  body: object = {},
): Promise<Body> {
  const headers = { 'content-type': 'application/json', origin: baseUrl };
  const session = await fetch(`${baseUrl}/api/session`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ email, password }),
  });
  const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? '';
  const { user } = (await session.json()) as { user: { id: string } };
  const answer = await fetch(baseUrl + path, {
    method,
    headers: { ...headers, cookie, 'x-user-id': user.id },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Body;
}

/** A further workspace, and what a backend of it proves itself with. */
export const addWorkspace = (baseUrl: string, owner: { email: string; password: string }, name: string) =>
  asUser<Pick<Credentials, 'workspace' | 'client' | 'apiKey'>>(
    baseUrl,
    owner,
    'POST',
    '/api/admin/workspaces',
    { name, email: `${name.toLowerCase()}@example.com` },
  );
