import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../model/tables';
import { FEED_START } from '../outcomes/outcomes';

/** For one workspace, a process asks no more often than this. */
const SAID_MS = 20_000;
const REMEMBERED = 10_000;

/**
 * Records that something was sent whose outcome a workspace's feed will report. The watcher process then
 * follows the feed closely, however quiet it was.
 */
export class FeedAsks {
  private readonly said = new Map<string, number>();

  constructor(private readonly db: Kysely<CampaignTables>) {}

  async ask(workspaceId: string): Promise<void> {
    const now = Date.now();
    if (now - (this.said.get(workspaceId) ?? 0) < SAID_MS) return;
    await sql`
      insert into event_cursors as c (workspace_id, cursor, asked_at) values (${workspaceId}, ${FEED_START}, now())
      on conflict (workspace_id) do update set asked_at = now()`.execute(this.db);
    if (this.said.size >= REMEMBERED) this.said.clear();
    this.said.set(workspaceId, now);
  }
}
