import { type Kysely, sql } from 'kysely';
import type { MessagingTables } from '../model/tables';
import { liftSuppressions } from './lift-suppressions';
import { upsertSuppressions } from './suppression-rows';
import type { Subscriber, UnsubscribeTokens } from './unsubscribe-tokens';

/** What the unsubscribe link in a mail does. Each action may be repeated without further effect. */
export interface Unsubscribe {
  /** The recipient of a link; `undefined` for a link that we did not create. */
  subscriberOf(token: string): Subscriber | undefined;
  /** Stops all mail of this workspace to the address, from every sender. */
  unsubscribe(subscriber: Subscriber): Promise<void>;
  /** Lifts only what `unsubscribe` made; a complaint or a bounce stays. */
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
