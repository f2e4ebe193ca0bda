import { databaseNow } from '../../domain/database-clock';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';

/** What begins with a workflow of its own, such as a run or a durable send. */
export interface Launchable {
  workspaceId: string;
  /** Not before this time; without it, now. */
  startAt?: Date | undefined;
  /** It sleeps, and is to be woken: a second wake is another one, for what was written after the first. */
  isDue?: boolean;
}

/** How one kind of work is launched, and how much of it at once. */
export interface LaunchKind<Work extends Launchable> {
  keyOf(work: Work): string;
  give(work: Work): Promise<void>;
  /** Those that their workflows have not started. */
  unstarted(launched: readonly Work[]): Promise<Work[]>;
  limits: { all: number; each: number };
}

/** How often what was launched is looked at while others wait. */
const LOOK_MS = 50;
/** After a look or a launch that failed, because Temporal or the database is away for seconds. */
const FAILED_MS = 1_000;
const AT_ONCE = 8;
/** What the database takes for soon, by its own clock, is soon here too. */
const SOON_MS = 2 * LIMITS.plannedAheadMs;

/**
 * Launches work of one kind, the workspaces in turn. Temporal serves a queue in the order in which its tasks came, and a backend
 * may ask for hundreds of campaigns or thousands of sends within seconds. A workspace's work is launched as earlier work is
 * started by its workflows, so that what another workspace asks for waits for some of it and not for all.
 *
 * What waits here has its row. If this process is killed, the reconciler launches it. Work for later is given to Temporal
 * at once, and its workflow waits there until it is woken in turn (planned-launches.ts), or for a while longer.
 */
export class LaunchesInTurn<Work extends Launchable> {
  /** Launched, and not known to be started. What is kept beyond its time is launched again when it is asked for. */
  private readonly launched = new Map<string, { work: Work; until: number }>();
  /** By workspace. The one whose turn is next comes first. */
  private readonly waiting = new Map<string, Work[]>();
  private readonly waitingKeys = new Set<string>();
  private isWorking = false;
  private isStopping = false;

  constructor(
    private readonly kind: LaunchKind<Work>,
    private readonly log: Log,
  ) {}

  /** Resolves when the work is launched, or waits for its turn. Rejects when Temporal does not take it. */
  async launch(work: Work): Promise<void> {
    const { workspaceId, startAt } = work;
    if (startAt && startAt.getTime() > databaseNow() + SOON_MS)
      return this.kind.give({ ...work, startAt: new Date(startAt.getTime() + LIMITS.plannedGraceMs) });
    const key = this.kind.keyOf(work);
    if ((!work.isDue && this.isLaunched(key)) || this.waitingKeys.has(key)) return;
    if (!this.waiting.has(workspaceId) && this.hasRoom(workspaceId)) return this.launchNow(work);
    if (this.isFull) return;
    this.waitingKeys.add(key);
    const queue = this.waiting.get(workspaceId);
    if (queue) queue.push(work);
    else this.waiting.set(workspaceId, [work]);
    if (!this.isWorking) void this.work();
  }

  /** Entries are put away only while other work waits, so that their time counts: a workflow may have been ended since. */
  private isLaunched(key: string): boolean {
    return (this.launched.get(key)?.until ?? 0) > Date.now();
  }

  isWaiting(work: Work): boolean {
    return this.waitingKeys.has(this.kind.keyOf(work));
  }

  /** What is launched now is left to the reconciler. */
  get isFull(): boolean {
    return this.waitingKeys.size >= LIMITS.launchesWaiting;
  }

  stop(): void {
    this.isStopping = true;
  }

  private async work(): Promise<void> {
    this.isWorking = true;
    while (this.waiting.size > 0 && !this.isStopping) {
      const isDone = (await this.forgetStarted()) && (await this.launchNext());
      await new Promise((done) => setTimeout(done, isDone ? LOOK_MS : FAILED_MS));
    }
    this.isWorking = false;
  }

  private async launchNext(): Promise<boolean> {
    let failure: unknown;
    let failed = 0;
    await inParallel(this.nextInTurn(), AT_ONCE, (work) =>
      this.give(work).catch((error: unknown) => {
        failure = error;
        failed += 1;
      }),
    );
    if (failed > 0)
      this.log.warn({ err: failure, failed }, 'workflows could not be launched; the reconciler tries again');
    return failed === 0;
  }

  private hasRoom(workspaceId: string): boolean {
    let own = 0;
    for (const { work } of this.launched.values()) if (work.workspaceId === workspaceId) own += 1;
    return this.launched.size < this.kind.limits.all && own < this.kind.limits.each;
  }

  /** As many as there is room for, and marks them as launched. */
  private nextInTurn(): Work[] {
    const next: Work[] = [];
    for (let passed = 0; passed < this.waiting.size; ) {
      const [workspaceId, queue] = this.waiting.entries().next().value as [string, Work[]];
      this.waiting.delete(workspaceId);
      const work = this.hasRoom(workspaceId) ? queue.shift() : undefined;
      if (work) {
        this.waitingKeys.delete(this.kind.keyOf(work));
        this.note(work);
        next.push(work);
      }
      passed = work ? 0 : passed + 1;
      if (queue.length > 0) this.waiting.set(workspaceId, queue);
    }
    return next;
  }

  private launchNow(work: Work): Promise<void> {
    this.note(work);
    return this.give(work);
  }

  private note(work: Work): void {
    this.launched.set(this.kind.keyOf(work), { work, until: Date.now() + LIMITS.launchedMs });
  }

  private async give(work: Work): Promise<void> {
    try {
      await this.kind.give(work);
    } catch (error) {
      this.launched.delete(this.kind.keyOf(work));
      throw error;
    }
  }

  private async forgetStarted(): Promise<boolean> {
    try {
      const looked = [...this.launched.values()];
      const unstarted = await this.kind.unstarted(looked.map(({ work }) => work));
      const idle = new Set(unstarted.map((work) => this.kind.keyOf(work)));
      for (const { work, until } of looked) {
        const key = this.kind.keyOf(work);
        if (!idle.has(key) || until <= Date.now()) this.launched.delete(key);
      }
      return true;
    } catch (error) {
      this.log.warn({ err: error }, 'could not read which workflows were started; trying again');
      return false;
    }
  }
}
