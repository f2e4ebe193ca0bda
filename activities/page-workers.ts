/** Owner of a chunk: turns go round the workspaces, and within each workspace round its campaigns. */
export interface TurnKey {
  workspaceId: string;
  campaignId: string;
}

interface Waiter {
  key: TurnKey;
  begin: () => void;
}

/** Number of workspaces and campaigns whose last turn is kept. */
const REMEMBERED = 2_000;

/**
 * The page workers of a process: the number of chunks that are sent at once. An activity waits for its run's
 * rate without holding a worker. It takes one for each chunk and gives it back, so that a page blocks another
 * campaign for one chunk at most.
 *
 * The workspace that was served longest ago comes first, then its campaign that was served longest ago. A new
 * one comes before all others. No campaign may hold all workers, because a hanging service would give them back
 * only when its requests time out.
 */
export class PageWorkers {
  private readonly waiting: Waiter[] = [];
  private readonly active = new Map<string, number>();
  private readonly served = new Map<string, number>();
  private busy = 0;
  private turn = 0;

  constructor(
    private readonly size: number,
    private readonly perCampaign: number,
  ) {}

  async run<T>(key: TurnKey, stopped: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.acquire(key, stopped);
    try {
      return await work();
    } finally {
      this.release(key);
    }
  }

  private acquire(key: TurnKey, stopped: AbortSignal): Promise<void> {
    return new Promise((begin, fail) => {
      if (stopped.aborted) return void fail(stopped.reason);
      const waiter: Waiter = {
        key,
        begin: () => {
          stopped.removeEventListener('abort', giveUp);
          begin();
        },
      };
      const giveUp = () => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        fail(stopped.reason);
      };
      stopped.addEventListener('abort', giveUp, { once: true });
      this.waiting.push(waiter);
      this.serve();
    });
  }

  private release({ campaignId }: TurnKey): void {
    this.busy--;
    const active = (this.active.get(campaignId) ?? 1) - 1;
    if (active > 0) this.active.set(campaignId, active);
    else this.active.delete(campaignId);
    this.serve();
  }

  private serve(): void {
    while (this.busy < this.size) {
      const next = this.next();
      if (!next) return;
      const { workspaceId, campaignId } = next.key;
      this.waiting.splice(this.waiting.indexOf(next), 1);
      this.busy++;
      this.active.set(campaignId, (this.active.get(campaignId) ?? 0) + 1);
      this.turn++;
      this.remember(workspaceId);
      this.remember(campaignId);
      next.begin();
    }
  }

  private next(): Waiter | undefined {
    let best: Waiter | undefined;
    for (const waiter of this.waiting) {
      if ((this.active.get(waiter.key.campaignId) ?? 0) >= this.perCampaign) continue;
      if (!best || this.isBefore(waiter.key, best.key)) best = waiter;
    }
    return best;
  }

  private isBefore(one: TurnKey, other: TurnKey): boolean {
    const workspaces = this.servedAt(one.workspaceId) - this.servedAt(other.workspaceId);
    if (workspaces !== 0) return workspaces < 0;
    return this.servedAt(one.campaignId) < this.servedAt(other.campaignId);
  }

  private servedAt(id: string): number {
    return this.served.get(id) ?? 0;
  }

  /** A map keeps its entries in the order they were written, so that the first one is the oldest. */
  private remember(id: string): void {
    this.served.delete(id);
    this.served.set(id, this.turn);
    const [oldest] = this.served.keys();
    if (this.served.size > REMEMBERED && oldest !== undefined) this.served.delete(oldest);
  }
}
