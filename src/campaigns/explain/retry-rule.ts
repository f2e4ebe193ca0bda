import { callFault } from '../../domain/call-codes';
import { CALL_POLICY_DEFAULT, type CallResult, callsLeft } from '../../domain/call-policy';
import { deliveryRule } from '../../domain/delivery-rule';
import type { CallRecord } from '../calls/call-records';
import type { RecipientFacts } from './recipient-facts';

/** The attempt that comes, and how many the campaign's rule allows. */
export function attemptsOf(facts: RecipientFacts): { attempt: number; of: number } {
  const { view, run } = facts;
  const attempt = view.attempts + 1;
  if (view.channel !== 'voice') return { attempt, of: deliveryRule(run.options).policy.maxAttempts };
  return { attempt, of: view.attempts + callsThatMayFollow(facts, view.calls ?? [], new Date()) };
}

/**
 * How many calls may follow these, by the bound of the last one's outcome and by that of all calls. One was planned, so
 * that it is one at least. The last `retry-failed` until that time began anew.
 */
export function callsThatMayFollow(
  { run, stored }: RecipientFacts,
  calls: readonly CallRecord[],
  until: Date,
): number {
  const since = stored.putBack.findLast((at) => at <= until);
  const { retry, maxAttempts } = { ...CALL_POLICY_DEFAULT, ...run.options.voice };
  const results = calls
    .filter(({ placedAt }) => since === undefined || placedAt > since)
    .flatMap(({ outcome, code }): CallResult[] =>
      outcome === null ? [] : [{ outcome, fault: callFault(code ?? undefined) }],
    );
  return Math.max(1, callsLeft({ retry, maxAttempts }, results));
}
