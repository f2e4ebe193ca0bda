import { type ReactNode, useEffect, useId, useRef } from 'react';

interface DialogProps {
  title: string;
  onClose(): void;
  wide?: boolean;
  children: ReactNode;
  /** Buttons, the one that goes on last. */
  actions?: ReactNode;
}

/**
 * The browser's modal dialog, open as long as it is rendered: what is behind it cannot be reached, Escape closes it
 * where `onClose` ends its rendering, and focus returns to where it was.
 */
export function Dialog({ title, onClose, wide = false, children, actions }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        // A field for a file tells by the same event that no file was chosen.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        onClose();
      }}
      // At a second Escape the browser closes it without asking, and a secret that is shown once would be lost.
      onClose={({ currentTarget }) => {
        currentTarget.showModal();
        onClose();
      }}
    >
      <div className="stack">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
      {actions && <div className="dialog-actions">{actions}</div>}
    </dialog>
  );
}
