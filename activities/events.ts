import { FeedAsks } from '../src/campaigns/watch/feed-asks';
import type { ActivityDeps } from './deps';

/**
 * Marks that a run will need its workspace's event feed. The watcher process follows the feeds
 * (src/campaigns/watch/feeds.ts).
 */
export function eventActivities({ db }: ActivityDeps) {
  const asks = new FeedAsks(db);

  return {
    async ensureOutcomeFeed({ workspaceId }: { workspaceId: string }): Promise<void> {
      await asks.ask(workspaceId);
    },

    /** For workflows of an earlier release, one a workspace. They have nothing left to do, so they end. */
    async followEvents(_input: { workspaceId: string }): Promise<'again' | 'quiet'> {
      return 'quiet';
    },
  };
}
