import { useLayoutEffect, useRef, useState } from 'react';

interface Kept<Content> {
  /** What the person began from: its version and its content. */
  version: number;
  from: Content;
  draft: Content;
}

/**
 * What a person types over something that has versions. It outlives a reload of the page and a failed request, until it
 * is saved or thrown away. `isBehind` says that another person has saved something else meanwhile: what is typed stays,
 * and the form shows what changed.
 */
export function useKeptDraft<Content>(key: string, version: number, current: Content) {
  const place = placeOf(key);
  const [stored, setKept] = useState<Kept<Content>>(() => read(place) ?? untouched(version, current));
  const kept = settled(stored, version, current);
  const { draft, from } = kept;
  const isChanged = !isSame(draft, from);
  const [isKept, setIsKept] = useState(true);
  useLayoutEffect(() => {
    if (!isChanged) sessionStorage.removeItem(place);
    setIsKept(!isChanged || keep(place, kept));
  }, [kept, isChanged, place]);
  const latest = useRef(draft);
  latest.current = draft;
  return {
    draft,
    from,
    isChanged,
    /** False where the browser has no room for it, so that a reload would lose it. */
    isKept,
    isBehind: kept.version < version,
    setDraft: (changed: Content) => setKept({ ...kept, draft: changed }),
    /** Lets go of what was typed. */
    discard: () => setKept(untouched(version, current)),
    /** What was typed is meant to replace what another person has saved. */
    keepMine: () => setKept({ version, from: current, draft }),
    /** What was sent is stored now; what was typed while it was on its way is the next draft. */
    saved: (sent: Content, next: { version: number; content: Content; key?: string }) => {
      const typed = isSame(latest.current, sent) ? next.content : latest.current;
      const after = { version: next.version, from: next.content, draft: typed };
      sessionStorage.removeItem(place);
      if (next.key === undefined) setKept(after);
      else if (typed !== next.content) keep(placeOf(next.key), after);
    },
  };
}

/** A form in which nothing was typed follows what is saved; so does one that says the same as what was saved. */
function settled<Content>(kept: Kept<Content>, version: number, current: Content): Kept<Content> {
  const { draft, from } = kept;
  if (kept.version >= version) return kept;
  if (isSame(draft, from) || isSame(draft, current)) return untouched(version, current);
  return isSame(from, current) ? { version, from, draft } : kept;
}

const untouched = <Content>(version: number, content: Content): Kept<Content> => ({
  ...{ version, from: content, draft: content },
});

/** Without room, such as for an email of megabytes, nothing: an older draft would come back in its place. */
function keep<Content>(place: string, kept: Kept<Content>): boolean {
  try {
    sessionStorage.setItem(place, JSON.stringify(kept));
    return true;
  } catch {
    sessionStorage.removeItem(place);
    return false;
  }
}

function read<Content>(place: string): Kept<Content> | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(place) ?? 'null') as Partial<Kept<Content>> | null;
    return kept?.draft && kept.from && typeof kept.version === 'number' ? (kept as Kept<Content>) : undefined;
  } catch {
    return undefined;
  }
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

const placeOf = (key: string) => `fanfare.draft.${key}`;
