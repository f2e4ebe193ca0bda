import { afterDoubt, afterFailure, type DeliveryRule, failedForTheMoment } from './delivery-rule';
import { RECIPIENT_RANK, type RecipientState } from './recipient';

/** A recipient as the ledger has it stored. */
export interface RecipientRow {
  state: RecipientState;
  code: string | null;
  /** Number in the uid of its present message. */
  attempt: number;
  attempts: number;
  dueAt: Date;
  retryAt: Date | null;
  /** Former attempts that ended in doubt. */
  doubts: readonly number[];
}

/** What the event feed says of one message. */
export interface RecipientEvent {
  uid: string;
  attempt: number;
  state: RecipientState;
  code: string | undefined;
}

/**
 * What a recipient becomes by news of one of its messages; the same object when nothing changes. Told
 * twice, it changes nothing the second time: whatever gives a recipient a new attempt makes the news that
 * did it news of a former one. Without a rule nobody is sent to anew, for instance because the run is over.
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
  // The page or the feed, whichever comes first, counts the attempt: what is stored as accepted, the page did.
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
 * A former attempt got through after all. That it was handed over is news only where it was in doubt; one
 * that failed had been handed over before.
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
