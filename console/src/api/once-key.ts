import { useRef } from 'react';

/**
 * The key of a request that creates something: the same for as long as the same is asked for, so that a press after a
 * lost answer creates nothing twice. `done` ends that, where the same may be asked for again.
 */
export function useOnceKey() {
  const known = useRef({ content: '', key: '' });
  return {
    keyOf(body: unknown): string {
      const content = JSON.stringify(body);
      if (content !== known.current.content) known.current = { content, key: newKey() };
      return known.current.key;
    },
    done(): void {
      known.current = { content: '', key: '' };
    },
  };
}

/** `crypto.randomUUID` is missing on addresses without TLS, other than this machine's own. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `console-${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
