import type { PageRecipient } from '../src/campaigns/runs/ledger';
import type { RecipientResult } from '../src/campaigns/runs/write-results';
import { OUT_OF_HOURS } from '../src/domain/policy';
import { phonePrefix } from '../src/domain/time-zones/phone-zones';
import type { OpenHours } from '../src/domain/time-zones/recipient-hours';

/** Those who may be reached now, and what is recorded of the others, who wait for an hour at which they may. */
export function partByHours(
  recipients: readonly PageRecipient[],
  hours: OpenHours,
): { ready: PageRecipient[]; held: RecipientResult[] } {
  const now = Date.now();
  const ready: PageRecipient[] = [];
  const held: RecipientResult[] = [];
  for (const recipient of recipients) {
    // Without a place when hours by recipients' clocks were not asked for as the audience was frozen.
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
