import { type ComponentProps, useCallback, useState } from 'react';
import { TEXTS } from '../texts';
import { Button } from './button';
import { Dialog } from './dialog';
import { ImportPanel } from './import-panel';
import { LeaveImport } from './leave-import';

interface ImportDialogProps extends ComponentProps<typeof ImportPanel> {
  title: string;
  onClose(): void;
}

/** An import over a page. */
export function ImportDialog({ title, onClose, ...panel }: ImportDialogProps) {
  const [isSending, setSending] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const changed = useCallback((now: boolean) => {
    setSending(now);
    setAsking(false);
  }, []);
  const close = () => (isSending ? setAsking(true) : onClose());
  return (
    <Dialog
      wide
      title={title}
      onClose={close}
      actions={<Button onClick={close}>{TEXTS.common.close}</Button>}
    >
      <ImportPanel {...panel} onSending={changed} />
      {isAsking && <LeaveImport onLeave={onClose} onStay={() => setAsking(false)} />}
    </Dialog>
  );
}
