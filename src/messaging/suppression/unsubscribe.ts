import { type Kysely, sql } from 'kysely';
import type { MessagingTables } from '../tables';
import { liftSuppressions } from './lift-suppressions';
import { upsertSuppressions } from './suppression-rows';
import type { Subscriber, UnsubscribeTokens } from './unsubscribe-tokens';

/** What the link in a mail does. Each may be done again, and changes nothing then. */
export interface Unsubscribe {
  /** Whom a link is about; `undefined` for one that we did not make. */
  subscriberOf(token: string): Subscriber | undefined;
  /** No more mail of this workspace to the address, whoever sends it. */
  unsubscribe(subscriber: Subscriber): Promise<void>;
  /** Lifts what `unsubscribe` made, and no other block: a complaint or a bounce stays. */
  resubscribe(subscriber: Subscriber): Promise<void>;
}

export function createUnsubscribe({
  db,
  tokens,
}: {
  db: Kysely<MessagingTables>;
  tokens: UnsubscribeTokens;
}): Unsubscribe {
  return {
    subscriberOf: tokens.open,
    async unsubscribe({ workspaceId, address }) {
      const block = { channel: 'email' as const, address, reason: 'one_click', sender: undefined };
      await upsertSuppressions(db, workspaceId, [block], 'unsubscribe');
    },
    async resubscribe({ workspaceId, address }) {
      const made = sql<boolean>`sender = '' and source = 'unsubscribe'`;
      await liftSuppressions(db, { workspaceId, address, channel: 'email' }, made, 'page');
    },
  };
}
