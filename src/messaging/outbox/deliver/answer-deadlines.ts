import { LIMITS } from '../../../domain/limits';

const TIMEOUT_MS = LIMITS.handoverTimeoutSeconds * 1_000;

/**
 * Gives up hand-overs that have had no answer for `handoverTimeoutSeconds`. One timer serves all of them: a timer
 * and a race for each message were a tenth of all that a message allocated in its process.
 */
export class AnswerDeadlines {
  /** Kept in the order in which they began, so that the first has waited longest. */
  private readonly open = new Set<Unanswered>();
  private timer: NodeJS.Timeout | undefined;

  /** The answer, or an error when it takes too long. */
  within<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Unanswered = { sinceMs: performance.now(), giveUp: reject };
      this.open.add(waiting);
      this.timer ??= this.lookIn(TIMEOUT_MS);
      answer.then(
        (value) => {
          this.open.delete(waiting);
          resolve(value);
        },
        (error: unknown) => {
          this.open.delete(waiting);
          reject(error);
        },
      );
    });
  }

  private look(): void {
    this.timer = undefined;
    const nowMs = performance.now();
    for (const waiting of this.open) {
      const leftMs = waiting.sinceMs + TIMEOUT_MS - nowMs;
      if (leftMs > 0) {
        this.timer = this.lookIn(leftMs);
        return;
      }
      this.open.delete(waiting);
      waiting.giveUp(new Error(`No answer within ${TIMEOUT_MS} ms`));
    }
  }

  private lookIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.look(), Math.ceil(ms)).unref();
  }
}

interface Unanswered {
  sinceMs: number;
  giveUp(error: Error): void;
}
