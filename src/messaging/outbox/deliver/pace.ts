/** Messages that an account may be given at once after a pause: those of so long. */
const BURST_SECONDS = 0.2;

/**
 * How many messages an account may be given now, at its own rate. A process has its share of the rate, because the
 * processes would otherwise have to ask the database for each group.
 */
export class Pace {
  private tokens = 1;
  private filledAtMs = 0;
  private processes = 1;

  constructor(private readonly ratePerSecond: number) {}

  shareWith(processes: number): void {
    this.processes = Math.max(1, processes);
  }

  available(nowMs: number): number {
    const perMs = this.ratePerSecond / this.processes / 1_000;
    const most = Math.max(1, perMs * 1_000 * BURST_SECONDS);
    this.tokens = Math.min(most, this.tokens + Math.max(0, nowMs - this.filledAtMs) * perMs);
    this.filledAtMs = nowMs;
    return Math.floor(this.tokens);
  }

  take(count: number): void {
    this.tokens -= count;
  }

  /** When the next one may leave. */
  nextAtMs(nowMs: number): number {
    const missing = Math.max(0, 1 - this.tokens);
    return nowMs + Math.ceil((missing * this.processes * 1_000) / this.ratePerSecond);
  }
}
