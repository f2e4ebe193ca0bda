interface Ending {
  signal: AbortSignal;
  /** Whether it was the time that ended it, not `outer`. */
  isOver(): boolean;
  /** Begins the time anew. */
  again(): void;
  /** Waits for nothing any more. */
  stop(): void;
}

/** Aborts as `outer` does, and after `ms`. Made by hand, because `AbortSignal.any` is newer than browsers we serve. */
export function endAfter(ms: number, outer?: AbortSignal): Ending {
  const inner = new AbortController();
  let isOver = false;
  const end = () => {
    isOver = true;
    inner.abort();
  };
  const abort = () => inner.abort();
  let timer = setTimeout(end, ms);
  outer?.addEventListener('abort', abort);
  if (outer?.aborted) abort();
  return {
    signal: inner.signal,
    isOver: () => isOver,
    again(): void {
      clearTimeout(timer);
      timer = setTimeout(end, ms);
    },
    stop(): void {
      clearTimeout(timer);
      outer?.removeEventListener('abort', abort);
    },
  };
}
