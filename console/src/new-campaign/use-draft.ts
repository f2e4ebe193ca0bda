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
    localStorage.removeItem(KEY);
    setDraft(fresh());
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

function kept(): Draft {
  try {
    const text = localStorage.getItem(KEY);
    return text ? { ...fresh(), ...JSON.parse(text) } : fresh();
  } catch {
    return fresh();
  }
}

function keep(draft: Draft): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(draft));
  } catch {
    // Too much for the browser's store: what is on the page stays there.
  }
}

const fresh = (): Draft => ({
  ...emptyDraft(),
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  key: newKey(),
});
