import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '../domain/limits';

/**
 * Whether each dependency answers now, by name. What hangs counts as away after a limit that a prober waits for. Its
 * question stays open and serves later callers, so that probes do not take one connection after the other.
 */
export function createReadiness(
  questions: Record<string, () => Promise<unknown>>,
  limitMs: number = LIMITS.readinessAnswerMs,
): () => Promise<Record<string, boolean>> {
  const open = new Map<string, Promise<boolean>>();

  function ask(name: string, question: () => Promise<unknown>): Promise<boolean> {
    const asked =
      open.get(name) ??
      question()
        .then(
          () => true,
          () => false,
        )
        .finally(() => open.delete(name));
    open.set(name, asked);
    return Promise.race([asked, delay(limitMs, false, { ref: false })]);
  }

  return async () => {
    const named = Object.entries(questions).map(
      async ([name, question]) => [name, await ask(name, question)] as const,
    );
    return Object.fromEntries(await Promise.all(named));
  };
}
