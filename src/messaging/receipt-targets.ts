import type { Kysely } from 'kysely';
import { LIMITS } from '../domain/limits';
import { MESSAGE_RANK, type MessageState } from '../domain/message';
import { BoundedCache } from './bounded-cache';
import type { ReceiptTarget } from './receipt-change';
import { type Change, type FromProvider, findTargets, type Targets } from './receipt-rows';
import type { MessagingTables } from './tables';
import type { Verdict } from './verdict';

/**
 * The messages that receipts are about. Most receipts come soon after a hand-over that this process has
 * recorded, and what it knows of the message from then spares the reading of it. What is remembered may be
 * out of date, since receipts also reach other processes: writing a change tells, and then it is read.
 */
export interface ReceiptTargets {
  find(receipts: readonly FromProvider[]): Promise<Targets>;
  /** These are recorded as sent. */
  handedOver(provider: string, verdicts: readonly Verdict[]): void;
  written(change: Change): void;
  /** What was remembered of it is out of date. */
  forget(messageId: string): void;
}

export function createReceiptTargets(db: Kysely<MessagingTables>): ReceiptTargets {
  const recent = new BoundedCache<ReceiptTarget>(LIMITS.receiptTargets);
  const idsByProviderId = new BoundedCache<string>(LIMITS.receiptTargets);

  const remembered = ({ provider, receipt }: FromProvider): ReceiptTarget | undefined => {
    const id = receipt.id ?? idsByProviderId.get(`${provider} ${receipt.providerId}`);
    return id === undefined ? undefined : recent.get(id);
  };

  return {
    async find(receipts) {
      const known = receipts.map(remembered);
      const unknown = receipts.filter((_, i) => known[i] === undefined);
      const read = unknown.length > 0 ? await findTargets(db, unknown) : undefined;
      const byId = new Map(read?.byId);
      const byProviderId = new Map(read?.byProviderId);
      for (const [i, { provider, receipt }] of receipts.entries()) {
        const target = known[i];
        if (!target) continue;
        if (receipt.id !== undefined) byId.set(receipt.id, target);
        else byProviderId.set(`${provider} ${receipt.providerId}`, target);
      }
      return { byId, byProviderId };
    },
    handedOver(provider, verdicts) {
      for (const { message, attempt, state, providerId } of verdicts) {
        const { id, workspaceId, uid, channel, campaign = null } = message;
        const common = { id, workspace_id: workspaceId, uid, channel, campaign };
        recent.set(id, { ...common, state, attempt, provider, history: [{ type: state }] });
        if (providerId !== undefined) idsByProviderId.set(`${provider} ${providerId}`, id);
      }
    },
    written({ target, event }) {
      // An ended message hears little more.
      if (isEnd(event.state)) recent.delete(target.id);
      else if (recent.get(target.id)) {
        recent.set(target.id, { ...target, state: event.state, history: [...target.history, { ...event }] });
      }
    },
    forget: (messageId) => recent.delete(messageId),
  };
}

export const isEnd = (state: MessageState): boolean => MESSAGE_RANK[state] > MESSAGE_RANK.unknown;
