import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { addressOf, headersOfUser } from '../api/client';
import { follow } from '../api/live';
import { campaignQuery, type Detail } from './campaign-queries';
import { isOver } from './campaign-words';

/**
 * Keeps a campaign on the page current by its stream of events, as long as it is not over and the page is visible;
 * browsers allow about six connections to a server, for all tabs together.
 */
export function useProgress(id: string, phase: Detail['phase'] | undefined): boolean {
  const queries = useQueryClient();
  const isVisible = useVisible();
  const [isLive, setLive] = useState(false);
  const isFollowed = isVisible && phase !== undefined && !isOver(phase) && phase !== 'draft';
  useEffect(() => {
    if (!isFollowed) return undefined;
    const stop = new AbortController();
    const { queryKey } = campaignQuery(id);
    void follow(addressOf('/api/campaign/{id}/events', { id }), {
      headers: headersOfUser(),
      signal: stop.signal,
      onEvent: (progress) => {
        setLive(true);
        queries.setQueryData(queryKey, (known: Detail | undefined) =>
          known ? { ...known, ...(progress as Partial<Detail>) } : known,
        );
      },
      onBroken: () => setLive(false),
      onEnd: () => void queries.invalidateQueries({ queryKey }),
    });
    return () => {
      stop.abort();
      setLive(false);
    };
  }, [id, isFollowed, queries]);
  return isLive;
}

function useVisible(): boolean {
  const [isVisible, setVisible] = useState(() => document.visibilityState === 'visible');
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, []);
  return isVisible;
}
