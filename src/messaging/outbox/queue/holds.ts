import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { MessagingTables } from '../../model/tables';

/**
 * What is not handed over for the moment: messages with a tag that is held, and all messages of a workspace that is
 * stopped, but the confirmations of opt-outs. Every group asks the database before it opens, so that a hold or a stop
 * counts for it as soon as it is written; the copy in memory saves asking in vain, and stops what waits for its turn in
 * groups that are open already. The copy is looked after while it is not empty, to learn of releases by other processes,
 * and because a group may report a hold that was released between its asking and its answer; and while groups are open,
 * to learn of other processes' holds and stops well within the second that is promised. Holds are read only when
 * their table has changed, since each canceled campaign leaves one for a day.
 */
export interface Holds {
  isHeld(message: Holdable): boolean;
  /** By the database, because the copy in memory may be behind another process. */
  readHold(workspaceId: string, campaign: string): Promise<boolean>;
  /** What is held `aside` does not count towards the bound of the workspace's outbox (outbox-count.ts). */
  hold(workspaceId: string, campaign: string, aside?: boolean): Promise<void>;
  release(workspaceId: string, campaign: string): Promise<void>;
  /** A group met these holds, which another process wrote; without a campaign, a stop of the workspace. */
  learn(met: readonly HeldTag[]): void;
  /** Holds or stops were changed by another part of this process. */
  refresh(): Promise<void>;
  /** A batch is open until the answer is called. */
  attend(): () => void;
  /** SQL: the stopped workspaces of these. */
  stoppedAmong(workspaceIds: readonly string[]): ReturnType<StopRule>;
  start(): Promise<void>;
  stop(): void;
}

export interface Holdable {
  readonly workspaceId: string;
  readonly campaign: string | undefined;
  /** The message confirms an opt-out, which no stop keeps back. */
  readonly confirmsOptOut?: true | undefined;
}

export interface HeldTag {
  workspaceId: string;
  /** Null for all that the workspace sends. */
  campaign: string | null;
}

/**
 * SQL: a query of the workspaces that are stopped, of those given or of all (api.md 19, Stop). A stop is kept by
 * campaigns; src/app joins the two. As a part of the statement that opens a group it costs no round trip, and holds
 * for the same moment.
 */
export type StopRule = (among?: readonly string[]) => RawBuilder<{ workspace_id: string }>;

const REFRESH_INTERVAL_MS = 400;

/** No workspace is ever stopped where no rule is given. */
const NEVER: StopRule = () => sql`select null::text as workspace_id where false`;

export function createHolds(deps: {
  db: Kysely<MessagingTables>;
  stops?: StopRule | undefined;
  onReleased(): void;
}): Holds {
  const { db, stops = NEVER, onReleased } = deps;
  const copy = new Copy((readAt) => readHeld(db, stops, readAt));
  let timer: NodeJS.Timeout | undefined;
  let openBatches = 0;

  async function refresh(): Promise<void> {
    if (await copy.refresh()) onReleased();
  }

  return {
    isHeld: (message) => copy.isHeld(message),
    readHold: (workspaceId, campaign) => hasHold(db, workspaceId, campaign),
    async hold(workspaceId, campaign, aside = false) {
      await insertHold(db, workspaceId, campaign, aside);
      copy.hold(workspaceId, campaign);
    },
    async release(workspaceId, campaign) {
      await deleteHold(db, workspaceId, campaign);
      copy.release(workspaceId, campaign);
      onReleased();
    },
    learn: (met) => copy.learn(met),
    refresh() {
      copy.noteChange();
      return refresh();
    },
    attend() {
      openBatches += 1;
      return () => {
        openBatches -= 1;
      };
    },
    stoppedAmong: (workspaceIds) => stops(workspaceIds),
    async start() {
      await refresh();
      timer = repeatedly(refresh, () => !copy.isEmpty || openBatches > 0);
    },
    stop: () => clearInterval(timer),
  };
}

/** What this process knows of holds and stops. */
class Copy {
  private held = new Set<string>();
  private stopped = new Set<string>();
  /** The table's count of changes when `held` was read; none while the copy differs from what was read. */
  private readAt: string | undefined;
  private changes = 0;

  constructor(private readonly read: (readAt: string | undefined) => Promise<HeldNow>) {}

  get isEmpty(): boolean {
    return this.held.size + this.stopped.size === 0;
  }

  isHeld({ workspaceId, campaign, confirmsOptOut }: Holdable): boolean {
    if (!confirmsOptOut && this.stopped.size > 0 && this.stopped.has(workspaceId)) return true;
    return this.held.size > 0 && campaign !== undefined && this.held.has(keyOf(workspaceId, campaign));
  }

  /** Answers whether something was released. */
  async refresh(): Promise<boolean> {
    const { held, stopped, changes } = this;
    const now = await this.read(this.readAt);
    // It may not have seen what was changed here meanwhile; the next one will.
    if (this.changes !== changes) return false;
    this.stopped = now.stopped;
    // Without new holds, what a group reported meanwhile is in the copy, and `readAt` is none.
    if (now.held) {
      this.held = now.held;
      this.readAt = now.readAt;
    }
    return isLessThan(this.stopped, stopped) || isLessThan(this.held, held);
  }

  /** A reading that began before the change must not come after it, and the next one reads the table. */
  noteChange(): void {
    this.changes += 1;
    this.readAt = undefined;
  }

  hold(workspaceId: string, campaign: string): void {
    this.noteChange();
    this.held.add(keyOf(workspaceId, campaign));
  }

  release(workspaceId: string, campaign: string): void {
    this.noteChange();
    this.held.delete(keyOf(workspaceId, campaign));
  }

  learn(met: readonly HeldTag[]): void {
    for (const { workspaceId, campaign } of met) {
      if (campaign === null) this.stopped.add(workspaceId);
      else this.held.add(keyOf(workspaceId, campaign));
    }
    this.readAt = undefined;
  }
}

const isLessThan = (now: ReadonlySet<string>, before: ReadonlySet<string>): boolean =>
  now !== before && [...before].some((key) => !now.has(key));

/** No workspace's id has a space. */
const keyOf = (workspaceId: string, campaign: string): string => `${workspaceId} ${campaign}`;

interface HeldNow {
  /** None when the table is as it was at `readAt`. */
  held: Set<string> | undefined;
  stopped: Set<string>;
  readAt: string;
}

async function readHeld(
  db: Kysely<MessagingTables>,
  stops: StopRule,
  readAt: string | undefined,
): Promise<HeldNow> {
  const { rows } = await sql<{ changes: string; held: [string, string][] | null; stopped: string[] | null }>`
    select c.changes::text as changes, case when c.changes is distinct from ${readAt ?? null}::bigint then (
      select coalesce(json_agg(json_build_array(workspace_id, campaign)), '[]') from holds
    ) end as held, (select array_agg(workspace_id) from (${stops()}) s) as stopped
    from hold_changes c`.execute(db);
  const [row] = rows;
  if (!row) throw new Error('hold_changes has no row');
  return {
    held: row.held
      ? new Set(row.held.map(([workspaceId, campaign]) => keyOf(workspaceId, campaign)))
      : undefined,
    stopped: new Set(row.stopped ?? []),
    readAt: row.changes,
  };
}

/** One refresh at a time, as often as the interval says, while it is needed. */
function repeatedly(refresh: () => Promise<void>, isNeeded: () => boolean): NodeJS.Timeout {
  let running = false;
  return setInterval(() => {
    if (!isNeeded() || running) return;
    running = true;
    refresh()
      .catch(() => undefined)
      .finally(() => {
        running = false;
      });
  }, REFRESH_INTERVAL_MS).unref();
}

async function hasHold(db: Kysely<MessagingTables>, workspaceId: string, campaign: string): Promise<boolean> {
  const row = await db
    .selectFrom('holds')
    .select('campaign')
    .where('workspace_id', '=', workspaceId)
    .where('campaign', '=', campaign)
    .executeTakeFirst();
  return row !== undefined;
}

/** One that stands aside goes on doing so when it is held once more. */
async function insertHold(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  campaign: string,
  aside: boolean,
): Promise<void> {
  await db
    .insertInto('holds')
    .values({ workspace_id: workspaceId, campaign, aside })
    .onConflict((conflict) =>
      aside
        ? conflict
            .columns(['workspace_id', 'campaign'])
            .doUpdateSet({ aside })
            .where('holds.aside', '=', false)
        : conflict.doNothing(),
    )
    .execute();
}

async function deleteHold(db: Kysely<MessagingTables>, workspaceId: string, campaign: string): Promise<void> {
  await db
    .deleteFrom('holds')
    .where('workspace_id', '=', workspaceId)
    .where('campaign', '=', campaign)
    .execute();
}
