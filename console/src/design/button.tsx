import { Link, type LinkProps } from '@tanstack/react-router';
import type { ComponentProps, MouseEvent } from 'react';
import { useReadOnly } from './read-only';

export type ButtonKind = 'plain' | 'primary' | 'danger' | 'quiet';

interface Look {
  kind?: ButtonKind;
  small?: boolean;
}

const classOf = ({ kind = 'plain', small = false }: Look) => `button ${kind}${small ? ' small' : ''}`;

/**
 * `busy` keeps the button in place and in focus, and makes a second press do nothing. Where nothing may be changed there
 * is none. One that `toggles` takes a double click for one press, because its second half would undo the first.
 */
export function Button({
  kind,
  small,
  busy = false,
  unavailable = false,
  toggles = false,
  onClick,
  type = 'button',
  className = '',
  ...rest
}: Look & { busy?: boolean; unavailable?: boolean; toggles?: boolean } & ComponentProps<'button'>) {
  const isReadOnly = useReadOnly();
  const idle = busy || unavailable;
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (idle || (toggles && event.detail > 1)) event.preventDefault();
    else onClick?.(event);
  };
  if (isReadOnly) return null;
  return (
    <button
      {...rest}
      type={type}
      className={`${classOf({ kind, small })} ${className}`}
      aria-disabled={idle || undefined}
      aria-busy={busy || undefined}
      onClick={press}
    />
  );
}

/** A link that looks like a button. */
export function LinkButton({ kind, small, ...rest }: Look & LinkProps) {
  return <Link {...rest} className={classOf({ kind, small })} />;
}
