import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { reachability } from '../api/reachability';
import { TEXTS } from '../texts';

const ASK_AGAIN_MS = 2_000;

/** Shown while the server does not answer; asks until it does, and then reads everything on the page again. */
export function OfflineBanner() {
  const isReached = useSyncExternalStore(reachability.subscribe, reachability.get);
  const queries = useQueryClient();
  useEffect(() => {
    if (isReached) return undefined;
    const timer = setInterval(async () => {
      const answer = await fetch('/healthz').catch(() => undefined);
      if (!answer?.ok) return;
      reachability.set(true);
      await queries.invalidateQueries();
    }, ASK_AGAIN_MS);
    return () => clearInterval(timer);
  }, [isReached, queries]);
  return (
    <div role="status" className={isReached ? undefined : 'banner'}>
      {isReached ? '' : TEXTS.shell.offline}
    </div>
  );
}
