import type { Kysely } from 'kysely';
import type { CampaignTables } from '../model/tables';
import { stoppedWorkspaces } from './stops';

/** Twice within the second that is promised, with time for the statement. */
const LOOK_MS = 400;

/**
 * Which workspaces are stopped, for chunks that go to a service in single requests: at a slow service a chunk takes
 * longer than the second after which nothing more may leave. All chunks of a process share one statement, and none is
 * made while there are no such chunks.
 */
export class StopWatch {
  private stopped: ReadonlySet<string> = new Set();
  private attending = 0;
  private timer: NodeJS.Timeout | undefined;
  private isLooking = false;

  constructor(private readonly db: Kysely<CampaignTables>) {}

  /** Until the answer's `end` is called. */
  attend(workspaceId: string): { isStopped(): boolean; end(): void } {
    this.attending += 1;
    this.timer ??= setInterval(() => void this.look(), LOOK_MS).unref();
    return {
      isStopped: () => this.stopped.has(workspaceId),
      end: () => {
        this.attending -= 1;
        if (this.attending > 0) return;
        clearInterval(this.timer);
        this.timer = undefined;
        // A chunk that begins later has read the run's row, and is stopped by that.
        this.stopped = new Set();
      },
    };
  }

  private async look(): Promise<void> {
    if (this.isLooking) return;
    this.isLooking = true;
    try {
      const { rows } = await stoppedWorkspaces().execute(this.db);
      if (this.attending > 0) this.stopped = new Set(rows.map(({ workspace_id }) => workspace_id));
    } catch {
      // The chunk cannot be recorded either, and the next look comes soon.
    } finally {
      this.isLooking = false;
    }
  }
}
