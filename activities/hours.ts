import type { PageRecipient } from '../src/campaigns/runs/ledger';
import type { RecipientResult } from '../src/campaigns/runs/write-results';
import { OUT_OF_HOURS } from '../src/domain/policy';
import { phonePrefix } from '../src/domain/time-zones/phone-zones';
import type { OpenHours } from '../src/domain/time-zones/recipient-hours';

/**
 * Splits the recipients into those who may be reached now and results for the others, who wait until their
 * hours open.
 */
export function partByHours(
  recipients: readonly PageRecipient[],
  hours: OpenHours,
): { ready: PageRecipient[]; held: RecipientResult[] } {
  const now = Date.now();
  const ready: PageRecipient[] = [];
  const held: RecipientResult[] = [];
  for (const recipient of recipients) {
    // The time zone is missing when the run had no rules by recipients' local time as its audience was frozen.
    const next = hours.nextFor(recipient.place ?? phonePrefix(recipient.address) ?? null, now);
    if (next <= now) ready.push(recipient);
    else
      held.push({
        seq: recipient.seq,
        state: 'waiting',
        code: OUT_OF_HOURS,
        retryAt: new Date(next),
        attempted: false,
      });
  }
  return { ready, held };
}
