import type { PageRecipient } from '../src/campaigns/runs/ledger';
import type { RecipientResult } from '../src/campaigns/runs/write-results';
import { databaseNow } from '../src/domain/database-clock';
import { type DeliveryRule, waitUntil } from '../src/domain/delivery-rule';
import { ANSWER_LOST } from '../src/domain/errors';
import { OUT_OF_HOURS } from '../src/domain/policy';
import { placeOf } from '../src/domain/time-zones/phone-zones';
import type { OpenHours } from '../src/domain/time-zones/recipient-hours';

/**
 * Splits the recipients into those who may be reached now and results for the others. They wait until their hours open,
 * or end at once when their time is over by then, so that they do not keep the run open for that long.
 */
export function partByHours(
  recipients: readonly PageRecipient[],
  hours: OpenHours,
  rule: DeliveryRule,
): { ready: PageRecipient[]; held: RecipientResult[] } {
  const now = databaseNow();
  const ready: PageRecipient[] = [];
  const held: RecipientResult[] = [];
  for (const recipient of recipients) {
    const next = hours.nextFor(placeOf(recipient), now);
    if (next <= now) ready.push(recipient);
    else held.push({ seq: recipient.seq, attempted: false, ...heldUntil(next, recipient, rule) });
  }
  return { ready, held };
}

/** The service may have a message whose answer was lost, and is not asked for it again in closed hours: it stays in doubt. */
function heldUntil(next: number, recipient: PageRecipient, rule: DeliveryRule) {
  const isInDoubt = recipient.code === ANSWER_LOST;
  const result = waitUntil(rule, recipient, next, isInDoubt ? ANSWER_LOST : OUT_OF_HOURS);
  return isInDoubt && result.state === 'expired' ? { state: 'unknown' as const, code: ANSWER_LOST } : result;
}
