import type { Kysely } from 'kysely';
import type { CampaignTables } from '../tables';
import { abortIfTooManyFail } from './abort-run';
import type { RunOptions } from './runs';

/** A run is looked at no more often than this, by one process: the counts cost a few rows per shard. */
const LOOK_MS = 1_000;

/** Whether a run's outcomes may stop it: by `abort`, or by a gate of its release. */
export const isWatched = ({ abort, release }: RunOptions): boolean =>
  abort !== undefined || release?.gates !== undefined;

/**
 * Looks at runs after something was recorded in them. A look that comes too soon after the one before is
 * owed, and made up for by `settle`, so that the last news of a run is not the one that nobody looked at.
 */
export class AbortWatch {
  private readonly looked = new Map<string, number>();
  private readonly owed = new Map<string, boolean>();

  constructor(private readonly db: Kysely<CampaignTables>) {}

  async note(runId: string, tellsMore: boolean): Promise<void> {
    this.owed.set(runId, tellsMore);
    await this.settle();
  }

  /** Makes up for what is owed and may be looked at by now. */
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

  /** Looks at a run at once, whatever was looked at before: for whoever will not come back. */
  async last(runId: string, tellsMore: boolean): Promise<void> {
    this.looked.delete(runId);
    await this.note(runId, tellsMore);
  }
}
