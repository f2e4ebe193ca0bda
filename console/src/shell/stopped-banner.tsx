import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { fill, formatTime } from '../format';
import { stopQuery } from '../home/home-queries';
import { TEXTS } from '../texts';

/** On every page while all sending is stopped, because nothing else explains why nothing moves. */
export function StoppedBanner() {
  const { data: stop } = useQuery(stopQuery);
  return (
    <div role="status" className={stop ? 'banner' : undefined}>
      {stop && (
        <>
          {fill(TEXTS.shell.stopped, { since: formatTime(stop.since), reason: stop.reason })}{' '}
          <Link to="/">{TEXTS.shell.stoppedLink}</Link>
        </>
      )}
    </div>
  );
}
