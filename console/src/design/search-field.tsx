import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { TEXTS } from '../texts';
import { Field } from './field';

interface SearchFieldProps {
  /** What is searched for now. */
  value: string;
  onChange(value: string): void;
  hint?: string;
}

/** What is typed is asked for after a short rest, not at every letter. */
const REST_MS = 250;

export function SearchField({ value, onChange, hint }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const router = useRouter();
  const page = useRef(router.latestLocation.pathname);
  // What was searched may change without typing, for example by the button that clears it.
  useEffect(() => setTyped(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the rest anew
  useEffect(() => {
    if (typed.trim() === value) return undefined;
    const timer = setTimeout(() => {
      // The person has left for another page, which is still loading.
      if (router.latestLocation.pathname === page.current) onChange(typed.trim());
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <Field
      label={TEXTS.common.search}
      hint={hint}
      type="search"
      value={typed}
      maxLength={200}
      onChange={({ target }) => setTyped(target.value)}
    />
  );
}
