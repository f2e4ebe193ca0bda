import { useCallback, useState } from 'react';
import { newKey } from '../api/once-key';
import { type Draft, emptyDraft } from './draft';

const KEY = 'fanfare.new-campaign';

/** The form's content: every change is kept in this browser at once. `isKept` is false where it has no room for that. */
export function useDraft() {
  const [{ draft, isKept }, setState] = useState(() => ({ draft: kept(), isKept: true }));
  const set = useCallback((changed: Partial<Draft>) => {
    setState(({ draft: before }) => {
      const after = { ...before, ...changed };
      return { draft: after, isKept: keep(after) };
    });
  }, []);
  const change = useCallback((changed: Partial<Draft>) => set({ ...changed, key: newKey() }), [set]);
  const setAsked = useCallback((asked: string | undefined) => set({ asked }), [set]);
  const clear = useCallback(() => {
    empty();
    setState({ draft: kept(), isKept: true });
  }, []);
  return { draft, isKept, change, setAsked, clear };
}

/** Puts another content into the form, in place of what is there. */
export function openInForm(draft: Draft): void {
  keep({ ...draft, key: newKey() });
}

/** Whether the form holds anything that a person typed, of no campaign or of another one. */
export function holdsOther(id: string): boolean {
  const draft = kept();
  return draft.editing?.id !== id && (draft.name !== '' || draft.pasted !== '' || draft.lists.length > 0);
}

/**
 * Each page keeps its own, because of two that are open side by side the later would replace what was typed on the
 * other. The browser keeps the latest of all, for pages that are opened after this one is closed.
 */
function kept(): Draft {
  return read(sessionStorage) ?? read(localStorage) ?? fresh();
}

function read(store: Storage): Draft | undefined {
  try {
    const text = store.getItem(KEY);
    return text ? { ...fresh(), ...JSON.parse(text) } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Without room for it all, what is kept is without the pasted recipients: an older content would come back in its place,
 * and a start that was asked for would be forgotten, so that a press after a reload would make a second campaign.
 */
function keep(draft: Draft): boolean {
  if (put(draft)) return true;
  put({ ...draft, pasted: '', key: newKey() });
  return false;
}

function put(draft: Draft): boolean {
  try {
    for (const store of [sessionStorage, localStorage]) store.setItem(KEY, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

/** What another page has kept since is its own. */
function empty(): void {
  if (read(localStorage)?.key === kept().key) localStorage.removeItem(KEY);
  try {
    sessionStorage.setItem(KEY, JSON.stringify(fresh()));
  } catch {
    sessionStorage.removeItem(KEY);
  }
}

const fresh = (): Draft => ({
  ...emptyDraft(),
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  key: newKey(),
});
