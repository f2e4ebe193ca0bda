import type { PageRecipient } from '../src/campaigns/runs/ledger';
import type { RecipientResult } from '../src/campaigns/runs/write-results';
import {
  afterDoubt,
  afterFailure,
  type DeliveryRule,
  expiryOf,
  type Next,
  waitUntil,
} from '../src/domain/delivery-rule';
import type { SendAnswer } from '../src/gateway/gateway';

/** What decides how the answers to a chunk are read. */
export interface SendContext {
  rule: DeliveryRule;
  /** Whether the service may be asked again for the same message without sending it twice. */
  idempotent: boolean;
  uidOf(recipient: PageRecipient): string;
}

export type PageBackoff =
  | { kind: 'later'; retryAfterMs: number; inDoubt: boolean }
  | { kind: 'account'; code: string };

/** Delay before an idempotent service is asked again. */
const ASK_AGAIN_MS = 1_000;

/**
 * Returns a backoff when the service settled no message of the chunk. Then the reason does not lie in a
 * recipient, so that no recipient is charged an attempt. A recipient who was refused before, while others
 * were accepted, is still charged alone. Otherwise the last stragglers would keep a run open for ever.
 */
export function pageBackoff(
  recipients: readonly PageRecipient[],
  answers: readonly SendAnswer[],
  { idempotent }: SendContext,
): PageBackoff | undefined {
  if (!answers.length || answers.some((answer) => settles(answer, idempotent))) return undefined;
  for (const answer of answers) if (answer.kind === 'account') return answer;
  if (recipients.some((recipient, i) => refusedAgain(recipient, answers[i]))) return undefined;
  const delays = answers.map((answer) => (answer.kind === 'later' ? answer.retryAfterMs : ASK_AGAIN_MS));
  return {
    kind: 'later',
    retryAfterMs: delays.reduce((longest, delay) => Math.max(longest, delay), 0),
    inDoubt: answers.some(({ kind }) => kind === 'unknown'),
  };
}

function settles({ kind }: SendAnswer, idempotent: boolean): boolean {
  return (
    kind === 'accepted' || kind === 'suppressed' || kind === 'rejected' || (kind === 'unknown' && !idempotent)
  );
}

/**
 * Every attempt with its own uid was one try. A recipient with more tries than that was refused under one of
 * those uids.
 */
function refusedAgain(recipient: PageRecipient, answer: SendAnswer | undefined): boolean {
  return answer?.kind === 'later' && answer.because === 'refused' && recipient.attempts > recipient.attempt;
}

/** The results of a chunk in which at least one message was settled. */
export function resultsOf(
  recipients: readonly PageRecipient[],
  answers: readonly SendAnswer[],
  context: SendContext,
  nowMs: number,
): RecipientResult[] {
  const someTaken = answers.some((answer) => settles(answer, context.idempotent));
  return recipients.map((recipient, i) => ({
    seq: recipient.seq,
    attempt: recipient.attempt,
    ...resultOf(recipient, answers[i] ?? { kind: 'unknown' }, context, nowMs, someTaken),
  }));
}

type Result = Omit<RecipientResult, 'seq' | 'attempt'>;

function resultOf(
  recipient: PageRecipient,
  answer: SendAnswer,
  context: SendContext,
  nowMs: number,
  someTaken: boolean,
): Result {
  const { rule } = context;
  switch (answer.kind) {
    case 'accepted':
      return { state: 'accepted', attempted: true };
    case 'suppressed':
      return { state: 'suppressed', attempted: false };
    case 'rejected':
      return { state: 'rejected', code: answer.code, attempted: true };
    case 'later': {
      const { code, retryAfterMs: atLeastMs } = answer;
      if (answer.because === 'refused' && (someTaken || refusedAgain(recipient, answer))) {
        const next = afterFailure(rule, tried(recipient, context), nowMs, { code, atLeastMs });
        return { ...next, attempted: true };
      }
      return { ...waitUntil(rule, recipient, nowMs + atLeastMs, code), attempted: false };
    }
    case 'account':
      return { state: 'waiting', code: answer.code, retryAt: new Date(nowMs), attempted: false };
    case 'unknown':
      return context.idempotent ? askAgain(recipient, rule, nowMs) : inDoubt(recipient, context, nowMs);
  }
}

function askAgain(recipient: PageRecipient, rule: DeliveryRule, nowMs: number): Result {
  const retryAt = new Date(nowMs + ASK_AGAIN_MS);
  // It is too late to ask again, and the service may have the message. If it has, its events will report the
  // outcome.
  return retryAt.getTime() > expiryOf(rule, recipient.dueAt)
    ? { state: 'unknown', code: 'answer_lost', attempted: true }
    : { state: 'waiting', code: 'answer_lost', retryAt, attempted: false };
}

/** The outcome of a message is lost, and the service would send it twice if it was asked twice. */
export function inDoubt(recipient: PageRecipient, context: SendContext, nowMs: number): Result {
  const next: Next = afterDoubt(context.rule, tried(recipient, context), nowMs);
  return { ...next, attempted: true, anew: next.state === 'waiting' };
}

/**
 * Separates recipients whose time is over. A recipient in doubt may be sent to again, so that their expiry is
 * not certain.
 */
export function splitExpired(
  recipients: readonly PageRecipient[],
  rule: DeliveryRule,
  nowMs: number,
): { inTime: PageRecipient[]; expired: RecipientResult[] } {
  const inTime: PageRecipient[] = [];
  const expired: RecipientResult[] = [];
  for (const recipient of recipients) {
    const { seq, attempt, code } = recipient;
    if (nowMs <= expiryOf(rule, recipient.dueAt)) inTime.push(recipient);
    else if (code === 'answer_lost') expired.push({ seq, attempt, state: 'unknown', code, attempted: false });
    else expired.push({ seq, attempt, state: 'expired', code: 'expired', attempted: false });
  }
  return { inTime, expired };
}

/**
 * Nothing is sent to persons who were erased meanwhile. One whose message an earlier attempt may have sent is in doubt:
 * without the address it cannot be asked for again.
 */
export function splitErased(
  recipients: readonly PageRecipient[],
  doubtful: boolean,
): { offered: PageRecipient[]; erased: RecipientResult[] } {
  const state = doubtful ? ('unknown' as const) : ('suppressed' as const);
  const isErased = ({ address }: PageRecipient) => address === null;
  return {
    offered: recipients.filter((one) => !isErased(one)),
    erased: recipients
      .filter(isErased)
      .map(({ seq, attempt }) => ({ seq, attempt, state, code: 'erased', attempted: false })),
  };
}

function tried(recipient: PageRecipient, { uidOf }: SendContext) {
  return { uid: uidOf(recipient), attempts: recipient.attempts + 1, dueAt: recipient.dueAt };
}
