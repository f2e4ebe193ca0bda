/**
 * How many submit_sm may be unanswered on one session. A centre that says "slower" gets half as many at once,
 * down to one, and then one more for each round of them that it takes, up to the most that was agreed.
 */
export class Window {
  private limit: number;
  private taken = 0;
  private sinceLast = 0;
  private slowedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly limitMax: number) {
    this.limit = limitMax;
  }

  get room(): number {
    return this.limit - this.taken;
  }

  get inFlight(): number {
    return this.taken;
  }

  enter(): void {
    this.taken += 1;
  }

  leave(): void {
    this.taken -= 1;
  }

  accepted(): void {
    if (this.limit === this.limitMax || ++this.sinceLast < this.limit) return;
    this.sinceLast = 0;
    this.limit += 1;
  }

  /** Requests that were in flight together are refused together, and count as one failure. */
  throttled(nowMs: number): void {
    this.sinceLast = 0;
    if (nowMs - this.slowedAtMs < SAME_NEWS_MS) return;
    this.slowedAtMs = nowMs;
    this.limit = Math.max(1, this.limit >> 1);
  }
}

const SAME_NEWS_MS = 500;
