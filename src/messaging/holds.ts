import { type Kysely, sql } from 'kysely';
import type { Storage } from '../storage/storage';
import type { MessagingTables } from './tables';

/**
 * Tags whose messages are not handed over for the moment. Every batch asks the database before it opens,
 * so a hold counts everywhere as soon as it is written; the copy in memory only saves asking in vain, and
 * is looked at anew while it is not empty, to learn of releases by other processes.
 */
export interface Holds {
  isHeld(workspaceId: string, campaign: string | undefined): boolean;
  /** Held tags as `workspace/tag`, for queries. */
  keys(): string[];
  hold(workspaceId: string, campaign: string): Promise<void>;
  release(workspaceId: string, campaign: string): Promise<void>;
  /** A batch met these holds, which another process wrote. */
  learn(workspaceId: string, campaigns: readonly string[]): void;
  start(): Promise<void>;
  stop(): void;
}

const REFRESH_INTERVAL_MS = 400;

export function createHolds(deps: {
  db: Kysely<MessagingTables>;
  engine: Storage['engine'];
  onReleased(): void;
}): Holds {
  const { db, engine, onReleased } = deps;
  let held = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  async function refresh(): Promise<void> {
    const before = held;
    const rows = await db.selectFrom('holds').select(['workspace_id', 'campaign']).execute();
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
      held.add(keyOf(workspaceId, campaign));
    },
    async release(workspaceId, campaign) {
      await db
        .deleteFrom('holds')
        .where('workspace_id', '=', workspaceId)
        .where('campaign', '=', campaign)
        .execute();
      held.delete(keyOf(workspaceId, campaign));
      onReleased();
    },
    learn(workspaceId, campaigns) {
      for (const campaign of campaigns) held.add(keyOf(workspaceId, campaign));
    },
    async start() {
      await refresh();
      if (engine === 'embedded') return;
      let running = false;
      timer = setInterval(() => {
        if (held.size === 0 || running) return;
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

/** SQL: the message's tag is not held. */
export function notHeld(alias: string, keys: readonly string[]) {
  const m = (column: string) => sql.ref(`${alias}.${column}`);
  return sql`(${m('campaign')} is null or ${m('workspace_id')} || '/' || ${m('campaign')} <> all(${keys}::text[]))`;
}
