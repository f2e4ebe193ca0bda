import { useQuery } from '@tanstack/react-query';
import { isProblem } from '../api/problem';
import { EmptyState, ErrorState, Skeleton } from '../design/states';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { absentQuery } from './campaign-queries';

const { campaign: texts } = TEXTS;

/** Why an address is not among the recipients: it was left out before sending, or was never meant. */
export function AbsentPerson({ id, to }: { id: string; to: string }) {
  return isAddress(to) ? <AbsentAddress id={id} to={to} /> : <NoneMatches />;
}

/** A beginning, or an id of the backend's, is no address that could be asked about. */
const isAddress = (search: string): boolean => search.includes('@') || search.trim().startsWith('+');

const NoneMatches = ({ text = texts.people.noneText }: { text?: string | undefined }) => (
  <EmptyState title={texts.people.none}>{text}</EmptyState>
);

function AbsentAddress({ id, to }: { id: string; to: string }) {
  const found = useQuery(absentQuery(id, to));
  if (found.isPending) return <Skeleton lines={2} />;
  if (isProblem(found.error, 422)) return <NoneMatches />;
  if (found.error && !isProblem(found.error, 404))
    return <ErrorState error={found.error} onRetry={() => void found.refetch()} />;
  if (!found.data) return <NoneMatches text={found.error?.message} />;
  const { summary, skipped } = found.data;
  return (
    <EmptyState title={fill(texts.people.why, { to })}>
      <p>{summary}</p>
      {skipped && (
        <p>
          {fill(texts.story.skipped, { reason: texts.skippedReasons[skipped.reason] })}. {skipped.evidence}
        </p>
      )}
    </EmptyState>
  );
}
