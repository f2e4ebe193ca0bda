import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from './domain/limits';

/**
 * The requests that people and their programs wait for in this process, and the work behind them, which lets them
 * pass. Freezing, sending and delivering can keep a process busy for seconds. A request needs a dozen turns of its
 * event loop, and each turn waits for whatever piece of that work was begun before.
 *
 * Work steps aside only for requests that are late, so that it pays nothing while the process keeps up, and not for
 * those that are slow by themselves, such as a dry run.
 */
export class Foreground {
  /** When the requests under way began. They are kept in that order. */
  private readonly begun = new Set<{ atMs: number }>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** A request has begun; call the result when it is answered. */
  enter(): () => void {
    const request = { atMs: this.now() };
    this.begun.add(request);
    return () => void this.begun.delete(request);
  }

  get isLate(): boolean {
    const nowMs = this.now();
    for (const { atMs } of this.begun) {
      const ageMs = nowMs - atMs;
      if (ageMs < LIMITS.foregroundLateMs) return false;
      if (ageMs < LIMITS.foregroundSlowMs) return true;
    }
    return false;
  }

  /** Call before a piece of work that keeps the process busy. Resolves when no request is late, or after a while. */
  async pass(): Promise<void> {
    if (!this.isLate) return;
    const untilMs = this.now() + LIMITS.foregroundWaitMs;
    do await delay(LIMITS.foregroundLookMs);
    while (this.isLate && this.now() < untilMs);
  }
}
