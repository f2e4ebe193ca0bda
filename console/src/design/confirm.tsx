import type { ReactNode } from 'react';
import { TEXTS } from '../texts';
import { Button } from './button';
import { Dialog } from './dialog';
import { ErrorState } from './states';

interface ConfirmProps {
  title: string;
  /** What will happen, in sentences. */
  children: ReactNode;
  confirm: string;
  danger?: boolean;
  busy: boolean;
  error: unknown;
  onConfirm(): void;
  onClose(): void;
}

/** Asks before what cannot be taken back; a failure stays in the dialog, so that it can be tried again. */
export function Confirm({ title, children, confirm, danger, busy, error, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button kind={danger ? 'danger' : 'primary'} busy={busy} onClick={onConfirm}>
            {confirm}
          </Button>
        </>
      }
    >
      {children}
      {error !== null && error !== undefined && <ErrorState error={error} />}
    </Dialog>
  );
}
