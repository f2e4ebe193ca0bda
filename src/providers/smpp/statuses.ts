import type { HandOverResult } from '../provider';

/**
 * What a command_status in the answer to a submit_sm or a bind means (SMPP 3.4, 5.1.3). Centres use some of
 * them loosely; where a guess is needed the message is tried again, because giving up is the worse mistake
 * for a status that may pass.
 *
 * `sender` is what is wrong with the source address: it would be the same for every recipient, none of whom did anything.
 * `settings` is what is wrong with a field that is the same in each message of the account, or of its kind (long, or with
 * letters outside GSM 7): the account pauses. If the centre takes others meanwhile, the message alone is `rejected` when it
 * is refused a second time (account-breaker.ts).
 */
type StatusClass = 'throttled' | 'transient' | 'rejected' | 'sender' | 'settings' | 'account';

const STATUSES: Record<number, { class: StatusClass; what: string }> = {
  1: { class: 'rejected', what: 'The message length is invalid' },
  2: { class: 'rejected', what: 'The command length is invalid' },
  3: { class: 'settings', what: 'The command is not known to the centre' },
  4: { class: 'account', what: 'Bound in a way that does not allow this' },
  5: { class: 'account', what: 'Already bound as often as the account may be' },
  6: { class: 'settings', what: 'The priority flag is invalid' },
  7: { class: 'settings', what: 'The registered delivery flag is invalid' },
  8: { class: 'transient', what: 'System error' },
  10: { class: 'sender', what: 'The source address is invalid' },
  11: { class: 'rejected', what: 'The destination address is invalid' },
  13: { class: 'account', what: 'The bind failed' },
  14: { class: 'account', what: 'The password is wrong' },
  15: { class: 'account', what: 'The system id is unknown' },
  17: { class: 'transient', what: 'The message could not be canceled' },
  20: { class: 'throttled', what: 'The message queue is full' },
  21: { class: 'settings', what: 'The service type is invalid' },
  51: { class: 'rejected', what: 'The number of destinations is invalid' },
  64: { class: 'rejected', what: 'The destination flag is invalid' },
  67: { class: 'settings', what: 'The esm_class is not supported' },
  68: { class: 'rejected', what: 'The message cannot be submitted to a distribution list' },
  69: { class: 'transient', what: 'The submission failed' },
  72: { class: 'sender', what: 'The type of the source number is invalid' },
  73: { class: 'sender', what: 'The plan of the source number is invalid' },
  80: { class: 'rejected', what: 'The type of the destination number is invalid' },
  81: { class: 'rejected', what: 'The plan of the destination number is invalid' },
  83: { class: 'account', what: 'The system type is invalid' },
  88: { class: 'throttled', what: 'Faster than the account may send' },
  97: { class: 'rejected', what: 'The scheduled time is invalid' },
  98: { class: 'settings', what: 'The validity period is invalid' },
  100: { class: 'transient', what: 'Temporary error of the receiving application' },
  101: { class: 'rejected', what: 'Permanent error of the receiving application' },
  102: { class: 'rejected', what: 'Refused by the receiving application' },
  192: { class: 'settings', what: 'The optional part of the message is invalid' },
  193: { class: 'settings', what: 'An optional parameter is not allowed' },
  194: { class: 'settings', what: 'The length of an optional parameter is invalid' },
  195: { class: 'settings', what: 'An optional parameter is missing' },
  196: { class: 'settings', what: 'The value of an optional parameter is invalid' },
  254: { class: 'transient', what: 'Delivery failed' },
  255: { class: 'transient', what: 'Unknown error' },
  256: { class: 'account', what: 'The account may not use this service' },
  257: { class: 'account', what: 'The account is prohibited' },
  258: { class: 'account', what: 'The account may not use the requested service' },
  260: { class: 'settings', what: 'The data coding is invalid' },
};

/** The queue of a centre empties, and its measure of our speed starts anew, within about so long. */
const THROTTLE_MS = 1_000;

export const ACCEPTED = 0;
export const UNKNOWN_COMMAND = 0x03;
export const TEMPORARY_APPLICATION_ERROR = 0x64;

export const statusCode = (status: number): string => `smpp_0x${status.toString(16).padStart(2, '0')}`;

/** Codes of refusals of the sender, which receipts may bring too. */
export const ABOUT_SENDER: ReadonlySet<string> = new Set(
  Object.keys(STATUSES)
    .map(Number)
    .filter((status) => STATUSES[status]?.class === 'sender')
    .map((status) => statusCode(status)),
);

/** Codes of refusals that are not about the message, but about what it was accompanied by. */
export const ABOUT_TLVS: ReadonlySet<string> = new Set([0xc0, 0xc1, 0xc2, 0xc4].map(statusCode));

export const isThrottle = (status: number): boolean => classOf(status) === 'throttled';
export const isAccount = (status: number): boolean => classOf(status) === 'account';

export function resultOfStatus(status: number): Exclude<HandOverResult, { kind: 'accepted' | 'unknown' }> {
  const code = statusCode(status);
  const kind = classOf(status);
  if (kind === 'throttled') return { kind, retryAfterMs: THROTTLE_MS };
  if (kind === 'transient') return { kind, code };
  const message = STATUSES[status]?.what ?? code;
  return kind === 'settings'
    ? { kind: 'account', code, message, orRecipient: true }
    : { kind, code, message };
}

/** A vendor's own status may pass; the attempts of a message are counted. */
const classOf = (status: number): StatusClass => STATUSES[status]?.class ?? 'transient';
