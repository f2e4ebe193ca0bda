/** Whether the last request reached the server; the shell shows it and asks again until it does. */
type Listener = () => void;

let reached = true;
let reachedAt = 0;
const listeners = new Set<Listener>();

export const reachability = {
  get: () => reached,
  /** When the last answer came, by the clock of `performance.now()`. */
  reachedAt: () => reachedAt,
  set(now: boolean): void {
    if (now) reachedAt = performance.now();
    if (now === reached) return;
    reached = now;
    for (const listener of listeners) listener();
  },
  subscribe(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};
