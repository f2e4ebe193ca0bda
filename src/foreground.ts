import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from './domain/limits';

/**
 * The requests that people and their programs wait for in this process, and the work behind them, which lets them
 * pass. Freezing, sending, receipts and outcomes can keep a process and its database busy for seconds. A request needs a
 * dozen turns of both, and each turn waits for whatever piece of that work was begun before.
 *
 * Work steps aside only for requests that are late, so that it pays nothing while the process keeps up, and not for
 * those that are slow by themselves, such as a dry run. All work steps aside together, for a budget of time: what it
 * gives away it has to have worked for, so that half of the time is its own where requests are always late.
 */
export class Foreground {
  /** When the requests under way began. They are kept in that order. */
  private readonly begun = new Set<{ atMs: number }>();
  private budgetMs: number = LIMITS.foregroundBudgetMs;
  private lookedAtMs: number;
  private holdsWork = false;

  constructor(private readonly now: () => number = () => performance.now()) {
    this.lookedAtMs = now();
  }

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

  /** Whether a piece of work that would be begun now has to wait. Ask again after `foregroundLookMs`. */
  mustWait(): boolean {
    const nowMs = this.now();
    const passedMs = nowMs - this.lookedAtMs;
    this.lookedAtMs = nowMs;
    // Work that has left meanwhile no longer looks, and was not held for all of that time.
    const spentMs = Math.min(passedMs, 5 * LIMITS.foregroundLookMs);
    const budgetMs = this.budgetMs + (this.holdsWork ? -spentMs : passedMs);
    this.budgetMs = Math.max(0, Math.min(LIMITS.foregroundBudgetMs, budgetMs));
    // Once it is used up, work has a while to itself: a piece a millisecond later would be no better than none.
    const least = this.holdsWork ? 0 : LIMITS.foregroundLookMs * 10;
    this.holdsWork = this.isLate && this.budgetMs > least;
    return this.holdsWork;
  }

  /** Call before a piece of work that keeps the process busy. Resolves when it may begin. */
  async pass(): Promise<void> {
    while (this.mustWait()) await delay(LIMITS.foregroundLookMs);
  }
}
