import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useSyncExternalStore } from 'react';
import { reachability } from '../api/reachability';
import { TEXTS } from '../texts';

const ASK_AGAIN_MS = 2_000;
const ANSWER_WITHIN_MS = 10_000;

/** Shown while the server does not answer; asks until it does, and then reads everything on the page again. */
export function OfflineBanner() {
  const isReached = useSyncExternalStore(reachability.subscribe, reachability.get);
  const queries = useQueryClient();
  useEffect(() => {
    if (isReached) return undefined;
    let isAsking = false;
    const timer = setInterval(async () => {
      // One at a time, because a network that swallows requests would let them pile up, and all would read the page anew.
      if (isAsking) return;
      isAsking = true;
      const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
      const answer = await fetch('/healthz', { signal }).catch(() => undefined);
      isAsking = false;
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
