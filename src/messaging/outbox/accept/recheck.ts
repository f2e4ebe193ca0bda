/**
 * A write of which no answer came may still be under way: the server goes on with what it was asked, and
 * waits for a lock as long as it takes, with no caller left to answer. So the table is looked at again, each time
 * after a longer pause. A caller who repeats the request has it looked at as well (accept.ts).
 */
export interface Rechecks {
  raise(): void;
  stop(): void;
}

const LOOKS_AFTER_MS = [1_000, 10_000, 60_000, 600_000];

export function createRechecks(look: () => void): Rechecks {
  let timers: NodeJS.Timeout[] = [];

  function stop(): void {
    for (const timer of timers) clearTimeout(timer);
    timers = [];
  }

  return {
    raise() {
      // One row of looks is enough for several doubts: it begins again with the last of them, and at once.
      stop();
      timers = LOOKS_AFTER_MS.map((afterMs) => setTimeout(look, afterMs).unref());
      look();
    },
    stop,
  };
}
