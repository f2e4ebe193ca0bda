import { queryOptions } from '@tanstack/react-query';
import { THEME_KEY } from '../shell/theme';
import { actAs, addressOf, call } from './client';
import { ApiProblem, isProblem } from './problem';
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

/** Whether this server lets people sign in at an OpenID provider; it says so on the page as well. */
export const isOidcOffered = document.documentElement.dataset.oidc === 'offered';

/** Leads away from the console and back to it, which is why it is no call. */
export const oidcAddress = (back: string | undefined): string => addressOf('/api/session/oidc', {}, { back });

/** Who is signed in; a 401 is an error like any other, and leads to the sign-in page (queries.ts). */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: 60_000,
  retry: false,
  queryFn: async ({ signal }): Promise<User> => {
    if (!mayHaveSession) throw new ApiProblem(401, 'unauthenticated', '', '', undefined, [], undefined);
    const { user } = await call<WhoAmIData, WhoAmIResponse>('GET', '/api/session', { signal });
    begin(user);
    return user;
  },
});

export async function signIn(email: string, password: string, totp: string | undefined): Promise<User> {
  const body = { email, password, ...(totp ? { totp } : {}) };
  const { user } = await call<LogInData, LogInResponse>('POST', '/api/session', { body });
  mayHaveSession = true;
  begin(user);
  return user;
}

export async function signOut(): Promise<void> {
  try {
    await call<LogOutData, LogOutResponse>('DELETE', '/api/session');
  } catch (error) {
    // One that has ended already is what was asked for.
    if (!isProblem(error, 401)) throw error;
  }
  mayHaveSession = false;
  actAs(undefined);
  for (const store of STORES) forgetDrafts(store);
}

const STORES = [localStorage, sessionStorage];
/** Whose drafts a store holds. */
const OWNER_KEY = 'fanfare.user';

/** Whether a session began in this browser that no person has ended by signing out. */
export const hadSession = (): boolean => STORES.some((store) => store.getItem(OWNER_KEY) !== null);

/** A session may end without `signOut`, and another person may sign in after it, here or on another page. */
function begin({ id }: User): void {
  actAs(id);
  for (const store of STORES) {
    const owner = store.getItem(OWNER_KEY);
    if (owner !== null && owner !== id) forgetDrafts(store);
    store.setItem(OWNER_KEY, id);
  }
}

/** Drafts may hold recipients, and the next person at this browser may be another. How the console looks stays. */
function forgetDrafts(store: Storage): void {
  for (const key of Object.keys(store)) if (key !== THEME_KEY) store.removeItem(key);
}
