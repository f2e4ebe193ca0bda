import { queryOptions } from '@tanstack/react-query';
import { THEME_KEY } from '../shell/theme';
import { actAs, call } from './client';
import { ApiProblem } from './problem';
import type {
  LogInData,
  LogInResponse,
  LogOutData,
  LogOutResponse,
  WhoAmIData,
  WhoAmIResponse,
} from './types.gen';

export type User = WhoAmIResponse['user'];

/** The cookie itself is out of scripts' reach: the server says on the page whether the browser has one. */
let mayHaveSession = document.documentElement.dataset.session !== 'none';

/** Who is signed in; a 401 is an error like any other, and leads to the sign-in page (queries.ts). */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: 60_000,
  retry: false,
  queryFn: async ({ signal }): Promise<User> => {
    if (!mayHaveSession) throw new ApiProblem(401, 'unauthenticated', '', '', undefined, [], undefined);
    const { user } = await call<WhoAmIData, WhoAmIResponse>('GET', '/api/session', { signal });
    actAs(user.id);
    return user;
  },
});

export async function signIn(email: string, password: string, totp: string | undefined): Promise<User> {
  const body = { email, password, ...(totp ? { totp } : {}) };
  const { user } = await call<LogInData, LogInResponse>('POST', '/api/session', { body });
  mayHaveSession = true;
  actAs(user.id);
  return user;
}

export async function signOut(): Promise<void> {
  await call<LogOutData, LogOutResponse>('DELETE', '/api/session');
  mayHaveSession = false;
  actAs(undefined);
  forgetDrafts();
}

/** Drafts may hold recipients, and the next person at this browser may be another. How the console looks stays. */
function forgetDrafts(): void {
  sessionStorage.clear();
  for (const key of Object.keys(localStorage)) if (key !== THEME_KEY) localStorage.removeItem(key);
}
