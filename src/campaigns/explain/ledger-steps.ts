import { codeMeaning } from '../../domain/code-meanings';
import { deliveryRule, failedForTheMoment } from '../../domain/delivery-rule';
import { messageWord, type StepWhat, suppressionSentence } from '../../domain/explanation';
import { EARLIER_CHANNEL, REACHED_BEFORE } from '../../domain/fallback';
import type { MessageStory } from '../../domain/message-history';
import { FREQUENCY_CAP, OUT_OF_HOURS } from '../../domain/policy';
import { type RecipientState, SETTLED } from '../../domain/recipient';
import type { CallRecord } from '../calls/call-records';
import { type RecipientFacts, wasTried } from './recipient-facts';
import { attemptsOf, callsThatMayFollow } from './retry-rule';
import type { Step } from './steps';

/** Steps from the ledger, used where the service that has the messages does not report them. */

/** Why another attempt followed an earlier one, unless `retry-failed` put the recipient back in between. */
export function betweenAttempts(facts: RecipientFacts, stories: readonly MessageStory[]): Step[] {
  return facts.view.channel === 'voice' ? betweenCalls(facts) : betweenMessages(facts, stories);
}

function betweenMessages({ run, stored, view }: RecipientFacts, stories: readonly MessageStory[]): Step[] {
  const rule = deliveryRule(run.options);
  return stories.slice(0, -1).flatMap((story, i): Step[] => {
    const end = story.events.findLast(({ state }) => SETTLED.includes(state as RecipientState));
    const next = stories[i + 1]?.events[0];
    if (!end) return [];
    const at = new Date(end.at);
    const isPutBack = stored.putBack.some((time) => time >= at && (!next || time <= new Date(next.at)));
    const failed = rule.retriesFailed && end.state === 'failed' && failedForTheMoment(end.code);
    const doubted = rule.resends && end.state === 'unknown';
    if (isPutBack || !(failed || doubted)) return [];
    // A refusal at the service is an attempt without a message: then which number this one had is not known.
    const isCounted = view.attempts === stored.attempt + 1 && stories.length === stored.attempt + 1;
    const data = {
      rule: failed ? 'failed' : 'unknown',
      ...(isCounted ? { attempt: i + 2 } : {}),
      of: rule.policy.maxAttempts,
    };
    const detail = 'The campaign’s rule on retries planned another attempt.';
    return [{ at, what: 'retry_planned', code: end.code, detail, data }];
  });
}

function betweenCalls(facts: RecipientFacts): Step[] {
  const { view, stored } = facts;
  const calls = view.calls ?? [];
  return calls.slice(0, -1).flatMap((call, i): Step[] => {
    const { endedAt, outcome } = call;
    if (!endedAt || !outcome) return [];
    const next = calls[i + 1];
    if (stored.putBack.some((at) => at >= endedAt && (!next || at <= next.placedAt))) return [];
    const detail = `The call ended with ${outcomeWord(outcome)}, and the campaign’s rule planned another one.`;
    const of = call.attempt + callsThatMayFollow(facts, calls.slice(0, i + 1), endedAt);
    const data = { rule: outcome, attempt: call.attempt + 1, of };
    return [{ at: endedAt, what: 'retry_planned', code: call.code ?? outcome, detail, data }];
  });
}

const outcomeWord = (outcome: NonNullable<CallRecord['outcome']>) => `“${outcome.replaceAll('_', ' ')}”`;

/** Codes of a recipient that waits without an attempt that failed. */
const NO_FAILURE: readonly string[] = [EARLIER_CHANNEL, OUT_OF_HOURS, FREQUENCY_CAP];

/** The retry that the recipient waits for now. */
export function ledgerRetry(facts: RecipientFacts): Step[] {
  const { view, stored } = facts;
  const code = view.code ?? view.outcome ?? undefined;
  if (view.state !== 'waiting' || stored.retryAt === null) return [];
  if (code === undefined || NO_FAILURE.includes(code)) return [];
  const { attempt, of } = attemptsOf(facts);
  const detail = `${codeMeaning(view.channel, code)} Attempt ${attempt} of ${of} is planned.`;
  const data = { rule: view.outcome ?? 'failed', attempt, of, at: stored.retryAt.toISOString() };
  return [{ at: view.updatedAt, what: 'retry_planned', code, detail, data }];
}

const ENDS: Partial<
  Record<RecipientState, { what: StepWhat; says: (word: string, again: boolean) => string }>
> = {
  sent: { what: 'handed_over', says: (word) => `The ${word} was handed over.` },
  delivered: { what: 'receipt', says: (word) => `The ${word} reached its recipient.` },
  undelivered: { what: 'receipt', says: (word) => `The ${word} did not reach its recipient.` },
  failed: { what: 'answered', says: (word) => `The ${word} failed.` },
  rejected: { what: 'answered', says: (word) => `The ${word} was refused.` },
  unknown: { what: 'answered', says: (word) => `Whether the ${word} arrived is not known.` },
  expired: {
    what: 'skipped',
    says: (_, again) =>
      again
        ? 'It was too late for another attempt.'
        : 'It was too late to send, and the recipient was left out.',
  },
  canceled: {
    what: 'moved',
    says: (_, again) =>
      `The campaign was canceled before ${again ? 'the next attempt' : 'the recipient was sent to'}.`,
  },
};

/** The end from the ledger, used where the latest message does not report it. */
export function ledgerEnd(facts: RecipientFacts, latest: MessageStory | undefined): Step[] {
  const { view, stored, finishedAt } = facts;
  const code = view.code ?? undefined;
  if (latest?.state === view.state) return [];
  if (view.state === 'suppressed') {
    const detail = suppressionSentence(view.channel, undefined);
    return [{ at: view.updatedAt, what: 'suppressed', detail }];
  }
  const end = ENDS[view.state];
  if (!end) return [];
  // One whom no page had taken has no row of its own end: it ended with its run.
  const at = stored.state === view.state ? view.updatedAt : finishedAt;
  if (!at) return [];
  if (view.state === 'canceled' && code === REACHED_BEFORE) {
    return [{ at, what: 'skipped', code, detail: codeMeaning(view.channel, code) }];
  }
  const meant = code === undefined ? '' : ` ${codeMeaning(view.channel, code)}`;
  const outcome = view.outcome === null ? {} : { outcome: view.outcome };
  const data = { ...outcome, ...(view.state === 'canceled' ? { by: 'cancel' } : {}) };
  return [
    {
      ...{ at, what: end.what, code: code ?? view.outcome ?? undefined },
      detail: `${end.says(messageWord(view.channel), wasTried(facts))}${meant}`,
      ...(Object.keys(data).length > 0 ? { data } : {}),
    },
  ];
}
