import { useCallback, useState } from 'react';
import { newKey } from '../api/once-key';
import { type Draft, emptyDraft } from './draft';

const KEY = 'fanfare.new-campaign';

/** The form's content: every change is kept in this browser at once. */
export function useDraft() {
  const [draft, setDraft] = useState<Draft>(kept);
  const change = useCallback((changed: Partial<Draft>) => {
    setDraft((before) => {
      const after = { ...before, ...changed, key: newKey() };
      keep(after);
      return after;
    });
  }, []);
  const setAsked = useCallback((asked: string | undefined) => {
    setDraft((before) => {
      const after = { ...before, asked };
      keep(after);
      return after;
    });
  }, []);
  const clear = useCallback(() => {
    empty();
    setDraft(kept());
  }, []);
  return { draft, change, setAsked, clear };
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

function keep(draft: Draft): void {
  for (const store of [sessionStorage, localStorage]) {
    try {
      store.setItem(KEY, JSON.stringify(draft));
    } catch {
      // Too much for the browser's store: what is on the page stays there.
    }
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
