import { afterDoubt, afterFailure, type DeliveryRule, failedForTheMoment } from './delivery-rule';
import { ANSWER_LOST } from './errors';
import { RECIPIENT_RANK, RECIPIENT_STATES, RETRIABLE, type RecipientState } from './recipient';

/** A recipient as the ledger stores them. */
export interface RecipientRow {
  state: RecipientState;
  code: string | null;
  /** Attempt number in the uid of the present message. */
  attempt: number;
  attempts: number;
  dueAt: Date;
  retryAt: Date | null;
  /** Earlier attempts that ended in doubt. */
  doubts: readonly number[];
}

/** What the event feed says about one message. */
export interface RecipientEvent {
  uid: string;
  attempt: number;
  state: RecipientState;
  code: string | undefined;
}

/**
 * Returns the recipient after an event about one of their messages, or the same object when nothing changes. A
 * repeated event changes nothing: if it gave the recipient a new attempt, it now concerns an earlier one.
 * Without a rule, no recipient gets a new attempt, for example because the run is over.
 */
export function applyEvent(
  standing: RecipientRow,
  event: RecipientEvent,
  rule: DeliveryRule | undefined,
  nowMs: number,
): RecipientRow {
  const { state } = lastDoubt(standing, event) ?? event;
  if (RECIPIENT_RANK[state] <= RECIPIENT_RANK[standing.state]) return standing;
  if (event.attempt !== standing.attempt) {
    return reachedAfterAll(standing, event) ? ended(standing, event) : standing;
  }
  // The page or the feed counts the attempt, whichever comes first. For a stored `accepted`, the page has
  // counted it.
  const counted = standing.state === 'pending' || standing.state === 'waiting' ? 1 : 0;
  const known = { ...standing, attempts: Math.max(1, standing.attempts + counted) };
  const tried = { uid: event.uid, attempts: known.attempts, dueAt: known.dueAt };
  if (rule?.retriesFailed && event.state === 'failed' && failedForTheMoment(event.code)) {
    return follow(known, afterFailure(rule, tried, nowMs, { code: event.code }));
  }
  if (rule?.resends && event.state === 'unknown') {
    const next = afterDoubt(rule, tried, nowMs);
    const doubts = next.state === 'waiting' ? [...known.doubts, event.attempt] : known.doubts;
    return follow({ ...known, doubts }, next);
  }
  return ended(known, lastDoubt(standing, event) ?? event);
}

/** Where the present message never left, an earlier one that is in doubt may have arrived. */
function lastDoubt({ attempt, doubts }: RecipientRow, event: RecipientEvent): RecipientEvent | undefined {
  const isLeftInDoubt = doubts.length > 0 && event.attempt === attempt && NEVER_LEFT.includes(event.state);
  return isLeftInDoubt ? { ...event, state: 'unknown', code: ANSWER_LOST } : undefined;
}

/**
 * An earlier attempt succeeded after all. Its `sent` changes something only if that attempt was in doubt,
 * because a failed one was handed over before it failed.
 */
function reachedAfterAll({ attempt, doubts }: RecipientRow, event: RecipientEvent): boolean {
  if (event.attempt > attempt) return false;
  return event.state === 'delivered' || (event.state === 'sent' && doubts.includes(event.attempt));
}

function ended(standing: RecipientRow, { state, code }: RecipientEvent): RecipientRow {
  return { ...standing, state, code: code ?? null, retryAt: null };
}

const NEVER_LEFT: readonly RecipientState[] = ['canceled', 'expired', 'suppressed'];

function follow(standing: RecipientRow, next: ReturnType<typeof afterFailure>): RecipientRow {
  if (next.state !== 'waiting') return { ...standing, state: next.state, code: next.code, retryAt: null };
  const { retryAt, code } = next;
  return { ...standing, state: 'waiting', attempt: standing.attempt + 1, retryAt, code: code ?? null };
}

/** An allowed change of a recipient's state: from one of these states to one of those. */
export interface MoveRule {
  from: readonly RecipientState[];
  to: readonly RecipientState[];
  /**
   * How the new state's rank must compare with the old one's. `above` and `notBelow` are as named.
   * `aboveUnlessAnew` allows any rank if the recipient gets another attempt with the change. `any` is for rules
   * that may lower the rank by intention.
   */
  rank: 'above' | 'notBelow' | 'aboveUnlessAnew' | 'any';
}

const OPEN = ['pending', 'waiting', 'sending'] as const;
/**
 * A recipient is pending from the freeze until the first write, and never again; pending recipients are not
 * counted.
 */
const WRITTEN = RECIPIENT_STATES.filter((state) => state !== 'pending');

/**
 * How recipients may move. States move up, except where a recipient gets another attempt or call, or another
 * place in the order of channels. Each of these has its own rule. The ledger writes states in no other way
 * (campaigns/ledger/move-recipients.ts).
 */
export const MOVES = {
  /** An event about the present message, or about an earlier one that was delivered. */
  event: { from: RECIPIENT_STATES, to: WRITTEN, rank: 'above' },
  /** A decision of recipient-transitions.ts, which may give the recipient another attempt, so that they wait. */
  followed: { from: RECIPIENT_STATES, to: WRITTEN, rank: 'aboveUnlessAnew' },
  /** A hard bounce of an email that its host had taken: the service says so, because there is no such mailbox. */
  bounced: { from: ['delivered'], to: ['undelivered'], rank: 'any' },
  /** A result of a page. A postponed retry stays waiting. */
  result: { from: RECIPIENT_STATES, to: WRITTEN, rank: 'notBelow' },
  /**
   * The run is canceled before the recipient was sent to. A message that was offered is `accepted` until the
   * service says more. `unknown` here and in the next two: an earlier message is in doubt.
   */
  cancel: { from: ['pending', 'waiting'], to: ['canceled', 'accepted', 'unknown'], rank: 'above' },
  /** The run is canceled, and the service never had the message. */
  absent: { from: ['pending', 'accepted'], to: ['canceled', 'unknown'], rank: 'above' },
  /** The recipient's time ended while the workspace was stopped, and the message was not offered. */
  overdue: { from: ['pending', 'waiting'], to: ['expired', 'unknown'], rank: 'above' },
  /** The operator asks for another attempt. */
  retry: { from: RETRIABLE, to: ['waiting'], rank: 'any' },
  /** In a fallback campaign: the recipient's channel begins, or is no longer needed. */
  turn: { from: ['waiting'], to: ['waiting', 'canceled'], rank: 'notBelow' },
  /** A workflow records how its call continues: it rings, waits for a redial, or is over. */
  call: { from: OPEN, to: WRITTEN, rank: 'any' },
  /** A recipient who waited for a call workflow now has one. */
  dial: { from: ['waiting'], to: ['sending'], rank: 'above' },
  /** The certain end of a call that was in doubt. */
  learned: { from: ['unknown'], to: WRITTEN, rank: 'above' },
} as const satisfies Record<string, MoveRule>;

export type MoveName = keyof typeof MOVES;

/** Whether the recipient may come from one state to the other without another attempt. */
export function mayMove(name: MoveName, from: RecipientState, to: RecipientState): boolean {
  const rule: MoveRule = MOVES[name];
  if (!rule.from.includes(from) || !rule.to.includes(to)) return false;
  const rise = RECIPIENT_RANK[to] - RECIPIENT_RANK[from];
  if (rule.rank === 'any') return true;
  return rule.rank === 'notBelow' ? rise >= 0 : rise > 0;
}
