import { type Kysely, sql } from 'kysely';
import type { MessagingTables } from '../model/tables';
import { liftSuppressions } from './lift-suppressions';
import { isSuppressed } from './suppression-check';
import { upsertSuppressions } from './suppression-rows';
import type { Subscriber, UnsubscribeTokens } from './unsubscribe-tokens';

/** What the unsubscribe link in a mail does. Each action may be repeated without further effect. */
export interface Unsubscribe {
  /** The recipient of a link; `undefined` for a link that we did not create. */
  subscriberOf(token: string): Subscriber | undefined;
  /** Stops all mail of this workspace to the address, from every sender. */
  unsubscribe(subscriber: Subscriber): Promise<void>;
  /**
   * Lifts only what `unsubscribe` made; a complaint or a bounce stays. Returns whether the address gets no mail
   * because of another block.
   */
  resubscribe(subscriber: Subscriber): Promise<{ isBlocked: boolean }>;
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
      const { rows } = await sql<{ isBlocked: boolean }>`
        select ${isSuppressed(workspaceId, { channel: sql`'email'`, to: sql`${address}::text`, from: EVERY_SENDER })} as "isBlocked"`.execute(
        db,
      );
      return { isBlocked: rows[0]?.isBlocked === true };
    },
  };
}

/** A link is of a workspace: blocks of one sender alone leave the others. */
const EVERY_SENDER = sql`''::text`;
