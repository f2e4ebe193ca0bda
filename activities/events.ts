import { FeedAsks } from '../src/campaigns/watch/feed-asks';
import type { ActivityDeps } from './deps';

/** The process that watches follows the feeds (src/campaigns/watch/feeds.ts); a run says that it will need one. */
export function eventActivities({ db }: ActivityDeps) {
  const asks = new FeedAsks(db);

  return {
    async ensureOutcomeFeed({ workspaceId }: { workspaceId: string }): Promise<void> {
      await asks.ask(workspaceId);
    },

    /** For workflows that an earlier release started, one a workspace: they have nothing left to do, and end. */
    async followEvents(_input: { workspaceId: string }): Promise<'again' | 'quiet'> {
      return 'quiet';
    },
  };
}
