import { useRouter } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { TEXTS } from '../texts';
import { Field } from './field';

/** Long enough to type a word, short enough not to be waited for. */
const PAUSE_MS = 300;

interface SearchFieldProps {
  /** What is searched for now, as the address says. */
  value: string;
  onSearch(value: string): void;
  hint?: string;
}

/** Searches when typing pauses, or at once with Enter. */
export function SearchField({ value, onSearch, hint }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const router = useRouter();
  const page = useRef(router.latestLocation.pathname);
  const told = useRef(value);
  const search = (text: string) => {
    told.current = text;
    onSearch(text);
  };
  useEffect(() => {
    // Its own search comes back without the space that a next word follows.
    if (value.trim() === told.current.trim()) return;
    told.current = value;
    setTyped(value);
  }, [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typing starts the clock
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(() => {
      // Otherwise a search would lead back from a page that the person has chosen and that is still loading.
      if (router.latestLocation.pathname === page.current) search(typed);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <form
      className="search-field"
      onSubmit={(event) => {
        event.preventDefault();
        search(typed);
      }}
    >
      <Field
        label={TEXTS.common.search}
        type="search"
        maxLength={200}
        value={typed}
        hint={hint}
        onChange={({ target }) => setTyped(target.value)}
      />
    </form>
  );
}
