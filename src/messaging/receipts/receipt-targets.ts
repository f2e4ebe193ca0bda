import type { Kysely } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { MESSAGE_RANK, MESSAGE_STATES, type MessageState } from '../../domain/message';
import type { NewEvent } from '../events/event-rows';
import type { AttemptResult } from '../model/attempt-result';
import type { MessagingTables } from '../model/tables';
import type { ReceiptTarget } from './receipt-change';
import { type Change, type FromProvider, findTargets, type Targets } from './receipt-rows';

/**
 * The messages that receipts belong to. Most receipts come soon after a hand-over that this process has
 * recorded, and a cache of these messages saves reading them. A cached message may be outdated, because
 * receipts also reach other processes. Writing the change then fails, and the message is read. Receipts with
 * only the provider's id are always looked up.
 */
export interface ReceiptTargets {
  find(receipts: readonly FromProvider[]): Promise<Targets>;
  /** These are recorded as sent. */
  handedOver(provider: string, attemptResults: readonly AttemptResult[]): void;
  written(change: Change): void;
  /** The cached message is outdated. */
  forget(messageId: string): void;
}

export function createReceiptTargets(db: Kysely<MessagingTables>): ReceiptTargets {
  const recent = new Map<string, ReceiptTarget>();

  return {
    async find(receipts) {
      const known = receipts.map(({ receipt }) => recent.get(receipt.id ?? ''));
      const unknown = receipts.filter((_, i) => known[i] === undefined);
      const read = unknown.length > 0 ? await findTargets(db, unknown) : undefined;
      const byId = new Map(read?.byId);
      for (const target of known) if (target) byId.set(target.id, target);
      return { byId, byProviderId: read?.byProviderId ?? new Map() };
    },
    handedOver(provider, attemptResults) {
      for (const { message, attempt, state } of attemptResults) {
        const { id, workspaceId, uid, channel, campaign = null } = message;
        recent.set(id, {
          id,
          workspace_id: workspaceId,
          uid,
          channel,
          campaign,
          state,
          attempt,
          provider,
          history: HISTORY_OF[state],
        });
      }
      // The first keys are the messages handed over longest ago.
      for (const id of recent.keys()) {
        if (recent.size <= LIMITS.receiptTargets) break;
        recent.delete(id);
      }
    },
    written({ target, event }) {
      // Few receipts follow for an ended message.
      if (isEnd(event.state)) recent.delete(target.id);
      else if (recent.has(target.id)) {
        recent.set(target.id, { ...target, state: event.state, history: [...target.history, { ...event }] });
      }
    },
    forget: (messageId) => recent.delete(messageId),
  };
}

/** Shared by all messages in a state, because each message in the cache outlives many collections of memory. */
const HISTORY_OF = Object.fromEntries(MESSAGE_STATES.map((state) => [state, [{ type: state }]])) as Record<
  MessageState,
  Pick<NewEvent, 'type'>[]
>;

export const isEnd = (state: MessageState): boolean => MESSAGE_RANK[state] > MESSAGE_RANK.unknown;
