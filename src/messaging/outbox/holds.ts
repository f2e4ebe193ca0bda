import type { Kysely } from 'kysely';
import type { MessagingTables } from '../tables';

/**
 * Tags whose messages are not handed over for the moment. Every batch asks the database before it opens,
 * so a hold counts for it as soon as it is written; the copy in memory saves asking in vain, and stops what waits
 * for its turn in batches that are open already. It is read anew while it is not empty, to learn of releases by
 * others, and because a batch may report a hold that was released between its asking and its answer; and while
 * batches are open, to learn of others' holds well within the second that is promised.
 */
export interface Holds {
  isHeld(workspaceId: string, campaign: string | undefined): boolean;
  /** Held tags as `workspace/tag`, for queries. */
  keys(): string[];
  hold(workspaceId: string, campaign: string): Promise<void>;
  release(workspaceId: string, campaign: string): Promise<void>;
  /** A batch met these holds, which another process wrote. */
  learn(workspaceId: string, campaigns: readonly string[]): void;
  /** A batch is open until the answer is called. */
  attend(): () => void;
  start(): Promise<void>;
  stop(): void;
}

const REFRESH_INTERVAL_MS = 400;

export function createHolds(deps: { db: Kysely<MessagingTables>; onReleased(): void }): Holds {
  const { db, onReleased } = deps;
  let held = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let changes = 0;
  let openBatches = 0;

  async function refresh(): Promise<void> {
    const before = held;
    const changesBefore = changes;
    const rows = await db.selectFrom('holds').select(['workspace_id', 'campaign']).execute();
    // It may not have seen what was changed here meanwhile; the next one will.
    if (changes !== changesBefore) return;
    held = new Set(rows.map((row) => keyOf(row.workspace_id, row.campaign)));
    if ([...before].some((key) => !held.has(key))) onReleased();
  }

  return {
    isHeld: (workspaceId, campaign) =>
      campaign !== undefined && held.size > 0 && held.has(keyOf(workspaceId, campaign)),
    keys: () => [...held],
    async hold(workspaceId, campaign) {
      await db
        .insertInto('holds')
        .values({ workspace_id: workspaceId, campaign })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      changes += 1;
      held.add(keyOf(workspaceId, campaign));
    },
    async release(workspaceId, campaign) {
      await db
        .deleteFrom('holds')
        .where('workspace_id', '=', workspaceId)
        .where('campaign', '=', campaign)
        .execute();
      changes += 1;
      held.delete(keyOf(workspaceId, campaign));
      onReleased();
    },
    learn(workspaceId, campaigns) {
      for (const campaign of campaigns) held.add(keyOf(workspaceId, campaign));
    },
    attend() {
      openBatches += 1;
      return () => {
        openBatches -= 1;
      };
    },
    async start() {
      await refresh();
      let running = false;
      timer = setInterval(() => {
        if ((held.size === 0 && openBatches === 0) || running) return;
        running = true;
        refresh()
          .catch(() => undefined)
          .finally(() => {
            running = false;
          });
      }, REFRESH_INTERVAL_MS);
      timer.unref();
    },
    stop: () => clearInterval(timer),
  };
}

const keyOf = (workspaceId: string, campaign: string): string => `${workspaceId}/${campaign}`;
