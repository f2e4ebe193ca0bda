import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { Page } from '../design/page';
import { ErrorState, messageOf } from '../design/states';
import { TEXTS } from '../texts';

const RELOADED = 'fanfare.reloaded-at';
const ONCE_IN_MS = 30_000;

/** A page that could not be shown. After an upgrade its file has another name: the console is then loaded anew, once. */
export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const isMissingFile = /dynamically imported module|Importing a module script failed/i.test(
    messageOf(error),
  );
  useEffect(() => {
    const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
    if (!isMissingFile || Date.now() - last < ONCE_IN_MS) return;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
  }, [isMissingFile]);
  return (
    <Page title={isMissingFile ? TEXTS.shell.update : TEXTS.common.failed}>
      <ErrorState
        error={error}
        onRetry={() => {
          reset();
          void router.invalidate();
        }}
      />
    </Page>
  );
}
