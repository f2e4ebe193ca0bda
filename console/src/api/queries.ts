import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiProblem, isProblem } from './problem';

/** The cache of answers. `onSignedOut` is called when the server no longer knows the session. */
export function createQueries(onSignedOut: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (isProblem(error, 401, 'unauthenticated')) onSignedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => {
        // Routes ask for the session themselves, and lead to the form when there is none.
        if (query.queryKey[0] !== 'session') onError(error);
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
        // What the server has judged stays as it is; what did not reach it is worth more tries.
        retry: (failures, error) => failures < 2 && !(error instanceof ApiProblem && error.status < 500),
        // Also without a network as the browser sees it: the server is often on the same machine.
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  });
}
