import { type ComponentProps, type ReactNode, useId } from 'react';
import { useReadOnly } from './read-only';

interface Labelled {
  label: string;
  /** What to know before typing. */
  hint?: ReactNode;
  /** What is wrong with what was typed. */
  wrong?: string | undefined;
}

/** A label, its control, a hint and what is wrong with it, connected for those who cannot see. */
export function Field({ label, hint, wrong, ...rest }: Labelled & ComponentProps<'input'>) {
  const { ids, frame } = useLabelled({ label, hint, wrong });
  const readOnly = useReadOnly();
  return frame(<input className="input" readOnly={readOnly} {...rest} {...ids} />);
}

export function TextArea({ label, hint, wrong, ...rest }: Labelled & ComponentProps<'textarea'>) {
  const { ids, frame } = useLabelled({ label, hint, wrong });
  const readOnly = useReadOnly();
  return frame(<textarea className="input" readOnly={readOnly} {...rest} {...ids} />);
}

/** The browser's own list: by keyboard, finger and screen reader as people know it. */
export function Select({ label, hint, wrong, children, ...rest }: Labelled & ComponentProps<'select'>) {
  const { ids, frame } = useLabelled({ label, hint, wrong });
  // A list to choose from has no state to be read in.
  const disabled = useReadOnly();
  return frame(
    <select className="input" disabled={disabled} {...rest} {...ids}>
      {children}
    </select>,
  );
}

/** A box to tick, or one of several with the same `name`. */
export function Choice({
  label,
  hint,
  type = 'checkbox',
  ...rest
}: { label: ReactNode; hint?: ReactNode } & ComponentProps<'input'>) {
  const id = useId();
  const disabled = useReadOnly();
  return (
    <div className="choice">
      <input
        disabled={disabled}
        {...rest}
        id={id}
        type={type}
        aria-describedby={hint ? `${id}-hint` : undefined}
      />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint && (
          <div className="muted small" id={`${id}-hint`}>
            {hint}
          </div>
        )}
      </div>
    </div>
  );
}

function useLabelled({ label, hint, wrong }: Labelled) {
  const id = useId();
  const described = [hint && `${id}-hint`, wrong && `${id}-wrong`].filter(Boolean).join(' ');
  const ids = { id, 'aria-describedby': described || undefined, 'aria-invalid': wrong ? true : undefined };
  const frame = (control: ReactNode) => (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {control}
      {hint && (
        <span className="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      {wrong && (
        <span className="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  );
  return { ids, frame };
}
