import type { Kysely } from 'kysely';
import type { RunOptions } from '../runs/runs';
import type { CampaignTables } from '../shared/tables';
import { abortIfTooManyFail } from './abort-run';

/** A process looks at a run at most this often, because the counts read a few rows per shard. */
const LOOK_MS = 1_000;

/** Whether a run's outcomes may stop it: by `abort`, or by a gate of its release. */
export const isWatched = ({ abort, release }: RunOptions): boolean =>
  abort !== undefined || release?.gates !== undefined;

/**
 * Checks runs after something was recorded in them. A check that would come too soon after the last one is
 * remembered, and `settle` makes it later, so that the last results of a run are checked too.
 */
export class AbortWatch {
  private readonly looked = new Map<string, number>();
  private readonly owed = new Map<string, boolean>();

  constructor(private readonly db: Kysely<CampaignTables>) {}

  async note(runId: string, tellsMore: boolean): Promise<void> {
    this.owed.set(runId, tellsMore);
    await this.settle();
  }

  /** Makes the remembered checks that are allowed by now. */
  async settle(): Promise<void> {
    const now = Date.now();
    for (const [runId, tellsMore] of this.owed) {
      if (now - (this.looked.get(runId) ?? 0) < LOOK_MS) continue;
      this.owed.delete(runId);
      this.looked.set(runId, now);
      await abortIfTooManyFail(this.db, runId, tellsMore);
    }
    for (const [runId, at] of this.looked) if (now - at >= LOOK_MS) this.looked.delete(runId);
  }

  /** Checks a run at once, because the caller will not come back for it. */
  async last(runId: string, tellsMore: boolean): Promise<void> {
    this.looked.delete(runId);
    await this.note(runId, tellsMore);
  }
}
