import { notifyManager, type QueryCache, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { isProblem, Unreachable } from '../api/problem';
import { Button } from '../design/button';
import { messageOf } from '../design/states';
import { fill } from '../format';
import { TEXTS } from '../texts';

/**
 * Shown while the page shows something that was read before and could not be read anew, such as of a server whose database
 * is away, or what another person has deleted: it would be taken for what is there now.
 */
export function StaleBanner() {
  const queries = useQueryClient();
  const cache = queries.getQueryCache();
  const message = useSyncExternalStore(
    useCallback((changed) => cache.subscribe(notifyManager.batchCalls(changed)), [cache]),
    () => staleOf(cache),
  );
  const again = () => queries.refetchQueries({ type: 'active', predicate: isStale });
  return (
    <div role="status" className={message === undefined ? undefined : 'banner'}>
      {message !== undefined && (
        <>
          {fill(TEXTS.shell.stale, { message })}{' '}
          <Button small onClick={() => void again()}>
            {TEXTS.common.retry}
          </Button>
        </>
      )}
    </div>
  );
}

type Query = ReturnType<QueryCache['getAll']>[number];

function isStale(query: Query): boolean {
  const { data, error } = query.state;
  if (!query.isActive() || data === undefined || error === null) return false;
  // The first is said by the banner of a server that does not answer; the second leads to the form to sign in.
  return !(error instanceof Unreachable) && !isProblem(error, 401);
}

function staleOf(cache: QueryCache): string | undefined {
  const stale = cache.getAll().find(isStale);
  return stale && messageOf(stale.state.error);
}
