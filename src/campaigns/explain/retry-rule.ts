import { CALL_POLICY_DEFAULT } from '../../domain/call-policy';
import { deliveryRule } from '../../domain/delivery-rule';
import type { RecipientFacts } from './recipient-facts';

/** The attempt that comes, and how many the campaign's rule allows. */
export function attemptsOf({ view, run }: RecipientFacts): { attempt: number; of: number } {
  return { attempt: view.attempts + 1, of: attemptsMax(run.options, view.channel) };
}

export function attemptsMax(
  options: RecipientFacts['run']['options'],
  channel: RecipientFacts['view']['channel'],
): number {
  if (channel === 'voice') return options.voice?.maxAttempts ?? CALL_POLICY_DEFAULT.maxAttempts;
  return deliveryRule(options).policy.maxAttempts;
}
