import { useEffect, useState } from 'react';

/** Long enough to type a word, short enough not to be waited for. */
const PAUSE_MS = 300;

/** What was typed, once typing pauses. */
export function useSettled(typed: string): string {
  const [settled, setSettled] = useState(typed);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(typed), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return settled;
}
