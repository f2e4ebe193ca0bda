import { type Kysely, sql } from 'kysely';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { SendLauncher } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';

export interface Launch {
  workspaceId: string;
  sendId: string;
  startAt: Date;
}

/** How often what was launched is looked at while others wait. */
const LOOK_MS = 50;
/** After a look or a launch that failed, because Temporal or the database is away for seconds. */
const FAILED_MS = 1_000;
const AT_ONCE = 8;
/** The database's clock, from which a time to start comes, may be ahead of ours. */
const SOON_MS = 5_000;

/**
 * Launches durable sends, the workspaces in turn. Temporal serves a queue in the order in which its tasks came, and a backend
 * may ask for thousands of sends within seconds. So a workspace's sends are launched as earlier ones are started by their
 * workflows, and the send of another workspace waits for some of them and not for all.
 *
 * What waits here has its row. If this process is killed, the reconciler launches it. A send for later is given to Temporal
 * at once, which keeps it until then.
 */
export class LaunchesInTurn {
  /** Launched, and not known to be started. */
  private readonly launched = new Map<string, { workspaceId: string; until: number }>();
  /** By workspace. The one whose turn is next comes first. */
  private readonly waiting = new Map<string, Launch[]>();
  private readonly waitingIds = new Set<string>();
  private isWorking = false;
  private isStopping = false;

  constructor(
    private readonly db: Kysely<CampaignTables>,
    private readonly launcher: Pick<SendLauncher, 'launchSend'>,
    private readonly log: Log,
  ) {}

  /** Resolves when the send is launched, or waits for its turn. Rejects when Temporal does not take it. */
  async launch(send: Launch): Promise<void> {
    const { workspaceId, sendId, startAt } = send;
    if (startAt.getTime() > Date.now() + SOON_MS) return this.give(send);
    if (this.launched.has(sendId) || this.waitingIds.has(sendId)) return;
    if (!this.waiting.has(workspaceId) && this.hasRoom(workspaceId)) return this.launchNow(send);
    if (this.waitingIds.size >= LIMITS.durableSendsToLaunch) return;
    this.waitingIds.add(sendId);
    const queue = this.waiting.get(workspaceId);
    if (queue) queue.push(send);
    else this.waiting.set(workspaceId, [send]);
    if (!this.isWorking) void this.work();
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
    await inParallel(this.nextInTurn(), AT_ONCE, (send) =>
      this.give(send).catch((error: unknown) => {
        failure = error;
        failed += 1;
      }),
    );
    if (failed > 0)
      this.log.warn({ err: failure, failed }, 'sends could not be launched; the reconciler tries again');
    return failed === 0;
  }

  private hasRoom(workspaceId: string): boolean {
    let own = 0;
    for (const one of this.launched.values()) if (one.workspaceId === workspaceId) own += 1;
    return this.launched.size < LIMITS.durableSendsLaunched && own < LIMITS.durableSendsLaunchedEach;
  }

  /** As many as there is room for, and marks them as launched. */
  private nextInTurn(): Launch[] {
    const next: Launch[] = [];
    for (let passed = 0; passed < this.waiting.size; ) {
      const [workspaceId, queue] = this.waiting.entries().next().value as [string, Launch[]];
      this.waiting.delete(workspaceId);
      const send = this.hasRoom(workspaceId) ? queue.shift() : undefined;
      if (send) {
        this.waitingIds.delete(send.sendId);
        this.note(send);
        next.push(send);
      }
      passed = send ? 0 : passed + 1;
      if (queue.length > 0) this.waiting.set(workspaceId, queue);
    }
    return next;
  }

  private launchNow(send: Launch): Promise<void> {
    this.note(send);
    return this.give(send);
  }

  private note({ workspaceId, sendId }: Launch): void {
    this.launched.set(sendId, { workspaceId, until: Date.now() + LIMITS.durableSendLaunchedMs });
  }

  private async give({ sendId, startAt }: Launch): Promise<void> {
    try {
      await this.launcher.launchSend({ sendId, startAt });
    } catch (error) {
      this.launched.delete(sendId);
      throw error;
    }
  }

  private async forgetStarted(): Promise<boolean> {
    try {
      const { rows } = await sql<{ id: string }>`
        select id from durable_sends where id = any(${[...this.launched.keys()]}::text[])
          and started_at is null and finished_at is null`.execute(this.db);
      const idle = new Set(rows.map((row) => row.id));
      for (const [id, { until }] of this.launched)
        if (!idle.has(id) || until <= Date.now()) this.launched.delete(id);
      return true;
    } catch (error) {
      this.log.warn({ err: error }, 'could not read which sends were started; trying again');
      return false;
    }
  }
}
