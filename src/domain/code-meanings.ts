import { callFault } from './call-codes';
import type { Channel } from './channel';
import { recipientFinding } from './delivery-codes';
import { ERRORS, type ErrorCode } from './errors';

/** The meaning of a code that is stored with a message or a recipient, in words that can be read out. */
export function codeMeaning(channel: Channel, code: string): string {
  if (Object.hasOwn(OURS, code)) return OURS[code] as string;
  const finding = recipientFinding(channel, code);
  if (finding) return FINDINGS[finding];
  if (channel === 'voice') {
    if (Object.hasOwn(CALL_ENDS, code)) return CALL_ENDS[code] as string;
    const fault = callFault(code);
    if (fault) return CALL_FAULTS[fault];
  }
  if (Object.hasOwn(ERRORS, code)) return `${ERRORS[code as ErrorCode].title}.`;
  return (channel === 'email' ? mailMeaning(code) : undefined) ?? carriersOwn(code);
}

const carriersOwn = (code: string): string =>
  `The carrier’s own code ${code}, which its documentation explains.`;

const OURS: Record<string, string> = {
  answer_lost:
    'The message was handed over, and the answer was lost: it may have arrived, and is not sent twice.',
  attempts_exhausted: 'All attempts were used; each failed for the moment.',
  call_end_unknown: 'No report told how the call ended.',
  document_unreachable: 'The call’s next document could not be read from its address.',
  erased: 'The person was erased, and nothing is sent to them any more.',
  expired: 'It was too late to send by the time that the message could leave.',
  invalid_document: 'The call’s document was not valid with the values that were filled in.',
  frequency_cap: 'The address has had as many messages as the workspace’s policy allows.',
  provider_account: 'The carrier refuses the account by which messages leave.',
  provider_rejected: 'The carrier refused the message for good.',
  provider_throttled: 'The carrier asked for fewer messages a second.',
  provider_transient: 'The carrier failed for the moment.',
  request_not_made: 'The carrier could not be reached.',
  ring_timeout: 'It rang for as long as it may, and the call was not answered.',
  thread_lost: 'The part of Fanfare that speaks to carriers ended before the carrier’s answer.',
  too_many_parts: 'The text takes more segments than one SMS may have.',
  withdrawn: 'The call was taken back while it rang, because its campaign was paused; it is made again.',
  reached_before: 'An earlier channel of the campaign has reached the contact.',
};

const FINDINGS: Record<NonNullable<ReturnType<typeof recipientFinding>>, string> = {
  hard: 'There is no such address.',
  soft: 'The mailbox takes nothing for now, for example because it is full.',
  complaint: 'The recipient marked the message as unwanted.',
  opted_out: 'The carrier blocks this sender for its subscriber, who opted out.',
};

/** Outcomes of calls, which stand in the place of a code where the carrier gave none. */
const CALL_ENDS: Record<string, string> = {
  busy: 'The line was busy.',
  no_answer: 'The call was not answered.',
  machine: 'A machine took the call.',
  failed: 'The call failed.',
  rejected: 'The call was declined.',
};

const CALL_FAULTS: Record<NonNullable<ReturnType<typeof callFault>>, string> = {
  carrier: 'The carrier could not place the call, which is no attempt.',
  number: 'There is no such number.',
  unwanted: 'The person who was called does not want such calls.',
};

/** RFC 5321 4.2.1 and RFC 3463: the first digit says whether it may be tried again, the second what it is about. */
function mailMeaning(code: string): string | undefined {
  const [, reply, subject] = /(?:^|[\s-])([245])\.(\d{1,3})\.\d{1,3}/.exec(code) ?? [];
  const first = reply ?? /^([45])\d\d(?:$|\D)/.exec(code)?.[1];
  if (first === undefined) return undefined;
  const about = SUBJECTS[subject ?? ''] ?? '';
  return first === '4'
    ? `The receiving server refused the message for the moment${about}.`
    : `The receiving server refused the message for good${about}.`;
}

const SUBJECTS: Record<string, string> = {
  1: ', because of an address',
  2: ', because of the mailbox',
  3: ', because of its own state',
  4: ', because of the way there',
  5: ', because of the exchange between the servers',
  6: ', because of the message’s content',
  7: ', because of its policy or the sender’s standing',
};
