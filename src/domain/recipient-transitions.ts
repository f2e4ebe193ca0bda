import { afterDoubt, afterFailure, type DeliveryRule, failedForTheMoment } from './delivery-rule';
import { RECIPIENT_RANK, type RecipientState } from './recipient';

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
  news: RecipientEvent,
  rule: DeliveryRule | undefined,
  nowMs: number,
): RecipientRow {
  if (RECIPIENT_RANK[news.state] <= RECIPIENT_RANK[standing.state]) return standing;
  if (news.attempt !== standing.attempt) {
    return reachedAfterAll(standing, news) ? ended(standing, news) : standing;
  }
  // The page or the feed counts the attempt, whichever comes first. For a stored `accepted`, the page has
  // counted it.
  const counted = standing.state === 'pending' || standing.state === 'waiting' ? 1 : 0;
  const known = { ...standing, attempts: Math.max(1, standing.attempts + counted) };
  const tried = { uid: news.uid, attempts: known.attempts, dueAt: known.dueAt };
  if (rule?.retriesFailed && news.state === 'failed' && failedForTheMoment(news.code)) {
    return follow(known, afterFailure(rule, tried, nowMs, { code: news.code }));
  }
  if (rule?.resends && news.state === 'unknown') {
    const next = afterDoubt(rule, tried, nowMs);
    const doubts = next.state === 'waiting' ? [...known.doubts, news.attempt] : known.doubts;
    return follow({ ...known, doubts }, next);
  }
  return ended(known, news);
}

/**
 * An earlier attempt succeeded after all. Its `sent` changes something only if that attempt was in doubt,
 * because a failed one was handed over before it failed.
 */
function reachedAfterAll({ attempt, doubts }: RecipientRow, news: RecipientEvent): boolean {
  if (news.attempt > attempt) return false;
  return news.state === 'delivered' || (news.state === 'sent' && doubts.includes(news.attempt));
}

function ended(standing: RecipientRow, { state, code }: RecipientEvent): RecipientRow {
  return { ...standing, state, code: code ?? null, retryAt: null };
}

function follow(standing: RecipientRow, next: ReturnType<typeof afterFailure>): RecipientRow {
  if (next.state !== 'waiting') return { ...standing, state: next.state, code: next.code, retryAt: null };
  const { retryAt, code } = next;
  return { ...standing, state: 'waiting', attempt: standing.attempt + 1, retryAt, code: code ?? null };
}
