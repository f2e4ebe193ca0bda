import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { sessionQuery } from '../api/session';
import { ReadOnly } from '../design/read-only';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { type Role, reaches } from './navigation';

/** Whether the person's role reaches one. Until it is known nothing is hidden, so that pages do not jump for most. */
export function useMay(): (from: Role) => boolean {
  const role = useRole();
  return (from) => reaches(role, from);
}

function useRole(): Role {
  const { data: user } = useQuery(sessionQuery);
  return user?.role ?? 'owner';
}

/** What a role is needed for; for the others, a sentence that names what is not shown, and why. */
export function Allowed({ from, label, children }: { from: Role; label: string; children: ReactNode }) {
  const may = useMay();
  return may(from) ? children : <NotShown labels={[label]} />;
}

/** A form that a lower role may read, with a sentence that says why nothing in it can be changed. */
export function ReadableBelow({ from, children }: { from: Role; children: ReactNode }) {
  const may = useMay();
  const role = useRole();
  return (
    <ReadOnly on={!may(from)}>
      {!may(from) && <p className="notice">{fill(TEXTS.nav.readOnly, { role, from })}</p>}
      {children}
    </ReadOnly>
  );
}

interface Action {
  /** The lowest role that may do it. */
  from: Role;
  label: string;
  shown: ReactNode;
}

/** Several of them, with one sentence for those that are not shown. */
export function Actions({ all }: { all: readonly Action[] }) {
  const may = useMay();
  return (
    <>
      {all.map(({ from, label, shown }) => may(from) && <span key={label}>{shown}</span>)}
      <NotShown labels={all.filter(({ from }) => !may(from)).map(({ label }) => label)} />
    </>
  );
}

export function NotShown({ labels }: { labels: readonly string[] }) {
  const role = useRole();
  if (labels.length === 0) return null;
  return <p className="muted small">{fill(TEXTS.nav.hidden, { role, places: labels.join(', ') })}</p>;
}
