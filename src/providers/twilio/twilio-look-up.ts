import type { HttpAnswer, NoAnswer } from '../http-exchange';
import type { InDoubt, LookUpResult } from '../provider';
import { objectIn, wordIn } from '../vendor/vendor-answer';

/** Between the carrier's clock and ours. */
const CLOCKS_DIFFER_MS = 5_000;

/**
 * Entries of a list that may be this message: made by the API in its time and, for an SMS, with its text. The
 * list is requested by recipient and sender.
 */
export function foundIn(
  answer: HttpAnswer | NoAnswer,
  list: 'messages' | 'calls',
  message: InDoubt,
): LookUpResult {
  if (!('status' in answer) || answer.status !== 200) return { kind: 'failed' };
  const all = objectIn(answer.text)?.[list];
  if (!Array.isArray(all)) return { kind: 'failed' };
  const providerIds = (all as Record<string, unknown>[]).flatMap((one) => {
    const sid = wordIn(one.sid);
    const created = Date.parse(String(one.date_created ?? one.start_time));
    const isIn =
      created >= message.sinceMs - CLOCKS_DIFFER_MS && created <= message.untilMs + CLOCKS_DIFFER_MS;
    const isText = list === 'calls' || one.body === message.text;
    return sid !== undefined && isIn && isText && one.direction === 'outbound-api' ? [sid] : [];
  });
  return providerIds.length === 0 ? { kind: 'none' } : { kind: 'found', providerIds };
}
