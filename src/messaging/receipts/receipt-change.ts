import { recipientFinding } from '../../domain/delivery-codes';
import { withoutPerson } from '../../domain/erasure';
import { isOfOurTime } from '../../domain/instants';
import { LIMITS } from '../../domain/limits';
import { MESSAGE_RANK, type MessageState, RECEIPT_STATE } from '../../domain/message';
import type { Receipt } from '../../providers/provider';
import { eventOf, type NewEvent } from '../events/event-rows';
import { storable } from '../model/storable-text';

/** A message as a receipt finds it. */
export interface ReceiptTarget {
  id: string;
  workspace_id: string;
  uid: string;
  channel: 'email' | 'sms' | 'voice';
  campaign: string | null;
  state: MessageState;
  attempt: number;
  provider: string | null;
  history: Partial<NewEvent>[];
  /** The person was erased, and no text of a carrier may bring them back. */
  erased?: boolean;
}

/**
 * What a receipt changes: the event it adds and the state after it. `undefined` when it is known already, or
 * the message has its most events.
 */
export function changeBy(target: ReceiptTarget, receipt: Receipt): NewEvent | undefined {
  const moved = RECEIPT_STATE[receipt.type];
  if (receipt.type === 'sent' && target.state !== 'unknown') return undefined;
  // Receipts that move the state are few and come once each, so that only the others need a limit.
  if (moved === undefined && target.history.length >= LIMITS.messageEvents) return undefined;
  const told = storableData(receipt.data);
  const data = target.erased ? (withoutPerson(told, NOBODY) as typeof told) : told;
  const code = receipt.code === undefined ? undefined : storable(receipt.code);
  const repeated = target.history.some(
    (entry) =>
      entry.type === receipt.type &&
      // A call may bring the same type twice with other data, for example when digits are asked for again.
      (moved !== undefined || (entry.code === code && sameData(entry.data, data))),
  );
  if (repeated) return undefined;
  const rises =
    moved !== undefined &&
    (receipt.type === 'sent' ||
      MESSAGE_RANK[moved] > MESSAGE_RANK[target.state] ||
      isHard(target, receipt)) &&
    !(moved === 'delivered' && target.history.some((entry) => isHard(target, entry)));
  return eventOf(
    { id: target.id, uid: target.uid, channel: target.channel, campaign: target.campaign ?? undefined },
    {
      type: receipt.type,
      state: rises ? moved : target.state,
      at: instant(receipt.at),
      code,
      provider: target.provider ?? undefined,
      attempt: target.attempt,
      data,
    },
  );
}

const NOBODY = { addresses: [], words: [] };

function instant(text: string | undefined): string | undefined {
  const ms = text === undefined ? Number.NaN : Date.parse(text);
  return isOfOurTime(ms) ? new Date(ms).toISOString() : undefined;
}

/** A host takes a mail and finds afterwards that there is no such mailbox: the bounce is then true, whichever came first. */
const isHard = ({ channel }: ReceiptTarget, { type, code }: { type?: unknown; code?: unknown }): boolean =>
  channel === 'email' &&
  type === 'undelivered' &&
  typeof code === 'string' &&
  recipientFinding(channel, code) === 'hard';

/** PostgreSQL's jsonb refuses U+0000 and half a surrogate pair, which JSON writes as escapes. */
const UNSTORABLE_ESCAPE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/i;

export function storableData(data: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  if (data === undefined) return undefined;
  const text = JSON.stringify(data);
  return text.length > LIMITS.receiptDataChars || UNSTORABLE_ESCAPE.test(text) ? undefined : data;
}

function sameData(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

/** Sorts keys, because the database returns them in its own order. */
function canonical(value: unknown): string {
  return JSON.stringify(value ?? null, (_, inner) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([x], [y]) => (x < y ? -1 : 1)))
      : inner,
  );
}
