import { useRef } from 'react';

/**
 * The key of a request that creates something: the same for as long as the same is asked for, so that a press after a
 * lost answer creates nothing twice. `done` ends that, where the same may be asked for again.
 *
 * With a `place`, a dialog that is closed and opened again, or a reload, has the keys that it had, until `done`: an operator
 * who gets no answer closes the dialog and looks.
 */
export function useOnceKey(place?: string) {
  const known = useRef<Record<string, string>>({});
  const stored = place === undefined ? undefined : `fanfare.once.${place}`;
  return {
    keyOf(body: unknown): string {
      const content = JSON.stringify(body);
      const before = stored === undefined ? known.current : { ...read(stored), ...known.current };
      const key = before[content] ?? newKey();
      // Without a place, only the last one: what is asked for after something else is asked for anew.
      known.current = stored === undefined ? { [content]: key } : { ...before, [content]: key };
      if (stored !== undefined) keep(stored, known.current);
      return key;
    },
    done(): void {
      known.current = {};
      if (stored !== undefined) sessionStorage.removeItem(stored);
    },
  };
}

function read(place: string): Record<string, string> {
  try {
    return JSON.parse(sessionStorage.getItem(place) ?? '{}');
  } catch {
    return {};
  }
}

function keep(place: string, keys: Record<string, string>): void {
  try {
    sessionStorage.setItem(place, JSON.stringify(keys));
  } catch {
    // The store is full: the dialog has its keys for as long as it is open.
  }
}

/** `crypto.randomUUID` is missing on addresses without TLS, other than this machine's own. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
