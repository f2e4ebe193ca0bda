import { useEffect } from 'react';
import { TEXTS } from '../texts';

/** Says that what is typed is too large for the browser's store, and has the browser ask before the page is left. */
export function KeptNote({ isKept }: { isKept: boolean }) {
  useEffect(() => {
    if (isKept) return;
    const ask = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [isKept]);
  return isKept ? null : (
    <p className="notice warn" role="status">
      {TEXTS.common.notKept}
    </p>
  );
}
