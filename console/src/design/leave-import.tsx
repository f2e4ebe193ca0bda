import { useBlocker } from '@tanstack/react-router';
import { useEffect } from 'react';
import { TEXTS } from '../texts';
import { Confirm } from './confirm';

const { imports } = TEXTS;

/** Asks before an import that is under way is ended by leaving it. */
export function LeaveImport({ onLeave, onStay }: { onLeave(): void; onStay(): void }) {
  return (
    <Confirm
      title={imports.leaveTitle}
      confirm={imports.leave}
      danger
      busy={false}
      error={null}
      onConfirm={onLeave}
      onClose={onStay}
    >
      <p>{imports.leaveText}</p>
    </Confirm>
  );
}

/** For links and the browser's own "back"; the browser itself asks before the page is closed or loaded anew. */
export function LeaveImportGuard({ isSending }: { isSending: boolean }) {
  const leaving = useBlocker({
    shouldBlockFn: () => isSending,
    enableBeforeUnload: isSending,
    withResolver: true,
  });
  const { status, reset } = leaving;
  // An import that has ended meanwhile is to be seen, and nothing is left to be asked.
  useEffect(() => {
    if (!isSending && status === 'blocked') reset();
  }, [isSending, status, reset]);
  return isSending && status === 'blocked' ? (
    <LeaveImport onLeave={leaving.proceed} onStay={leaving.reset} />
  ) : null;
}
