import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { sessionQuery } from '../api/session';

/**
 * What a person types into a field of a small form: like `useState`, and still there after a reload, or when they have
 * signed in again because their session ended in the middle. It is forgotten when the form is sent or closed. Not for
 * secrets, because the browser stores it.
 */
export function useTyped<Value>(place: string, initial: Value): [Value, (value: Value) => void] {
  const key = `fanfare.typed.${place}`;
  const [value, setValue] = useState<Value>(() => read<Value>(key)?.value ?? initial);
  const queries = useQueryClient();
  useEffect(
    () => () => {
      const isSignedIn = queries.getQueryData(sessionQuery.queryKey) !== undefined;
      if (isSignedIn) sessionStorage.removeItem(key);
    },
    [key, queries],
  );
  const set = (typed: Value) => {
    setValue(typed);
    try {
      sessionStorage.setItem(key, JSON.stringify({ value: typed }));
    } catch {
      // The store is full: the form has it for as long as it is open.
      sessionStorage.removeItem(key);
    }
  };
  return [value, set];
}

function read<Value>(key: string): { value: Value } | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}
