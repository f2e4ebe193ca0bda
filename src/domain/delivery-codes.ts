import type { Channel } from './channel';

/**
 * What a code that came with a refusal or a receipt says about the recipient. Few say anything: most are
 * about the message, the sender or the hour, and those never block anybody.
 *
 * - `hard`       the address is none: blocked at once.
 * - `soft`       the mailbox takes nothing for now, as when it is full: blocked when messages that ended so add up.
 * - `complaint`  the recipient called it spam: blocked at once.
 * - `opted_out`  the carrier blocks this sender for its subscriber: ours says the same from now on.
 */
export type RecipientFinding = 'hard' | 'soft' | 'complaint' | 'opted_out';

export function recipientFinding(channel: Channel, code: string | undefined): RecipientFinding | undefined {
  if (code === undefined) return undefined;
  const named = BY_NAME[channel].get(code.trim().toLowerCase());
  if (named || channel !== 'email') return named;
  const enhanced = ENHANCED.exec(code)?.[1];
  return enhanced === undefined ? undefined : BY_ENHANCED.get(enhanced);
}

/** RFC 3463, alone or behind the reply it came with: `5.1.1`, `550 5.1.1`. A bare 550 says too little. */
const ENHANCED = /(?:^|[\s-])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/;

/**
 * 5.7.x is missing on purpose: that is what a receiver thinks of the sender. So is 5.1.8, a bad sender's
 * address; and 5.4.x, which is about the way there.
 */
const BY_ENHANCED: ReadonlyMap<string, RecipientFinding> = new Map([
  ['5.1.0', 'hard'],
  ['5.1.1', 'hard'],
  ['5.1.2', 'hard'],
  ['5.1.3', 'hard'],
  ['5.1.6', 'hard'],
  ['5.1.10', 'hard'],
  ['5.2.1', 'hard'],
  ['4.2.2', 'soft'],
  ['5.2.2', 'soft'],
]);

/**
 * Names that carriers use, and Twilio's 21610. SMPP has no status for it: 0x400 and up are each operator's own
 * (SMPP 3.4, 5.1.3), so whoever speaks it translates its operator's into `opted_out`.
 */
const OPTED_OUT: [string, RecipientFinding][] = [
  ['opted_out', 'opted_out'],
  ['blocked_by_recipient', 'opted_out'],
  ['unsubscribed', 'opted_out'],
];

const BY_NAME: Record<Channel, ReadonlyMap<string, RecipientFinding>> = {
  email: new Map<string, RecipientFinding>([
    ...OPTED_OUT,
    ['unknown_recipient', 'hard'],
    ['mailbox_full', 'soft'],
    ['complaint', 'complaint'],
  ]),
  sms: new Map<string, RecipientFinding>([...OPTED_OUT, ['21610', 'opted_out'], ['complaint', 'complaint']]),
  voice: new Map<string, RecipientFinding>([...OPTED_OUT, ['complaint', 'complaint']]),
};
