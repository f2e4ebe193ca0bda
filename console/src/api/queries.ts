import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiProblem, isProblem, NoAnswer } from './problem';

interface Endings {
  /** The server no longer knows the session. */
  onSignedOut(): void;
  /** The browser's session is another person's by now, who has signed in on another page. */
  onAnotherUser(): void;
  /** The person's role no longer reaches what the page offers. */
  onForbidden(): void;
}

/** The cache of answers. */
export function createQueries({ onSignedOut, onAnotherUser, onForbidden }: Endings): QueryClient {
  const onError = (error: unknown) => {
    if (isProblem(error, 403, 'user_mismatch')) onAnotherUser();
    if (isProblem(error, 403, 'forbidden')) onForbidden();
    if (isProblem(error, 401, 'unauthenticated')) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        // Routes ask for the session themselves, and lead to the form when there is none.
        if (query.queryKey[0] !== 'session' || isProblem(error, 403)) onError(error);
      },
    }),
    mutationCache: new MutationCache({
      onError: (error, _variables, _context, { meta }) => {
        // The form to sign in has a 401 of its own.
        if (!meta?.signsIn) onError(error);
      },
    }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // What the server has judged stays as it is; what did not reach it is worth more tries. What it is too slow for is
        // asked again by the person only, who has waited long enough.
        retry: (failures, error) =>
          failures < 2 &&
          !(error instanceof ApiProblem && error.status < 500) &&
          !(error instanceof NoAnswer),
        // Also without a network as the browser sees it: the server is often on the same machine.
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  });
}
