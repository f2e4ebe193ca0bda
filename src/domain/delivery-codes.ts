import type { Channel } from './channel';

/**
 * What the code of a refusal or a receipt says about the recipient. Few codes say anything: most are about the
 * message, the sender or the time, and those never suppress an address.
 *
 * - `hard`: the address does not exist; suppressed at once.
 * - `soft`: the mailbox accepts nothing for now, for example because it is full; suppressed when enough
 * messages end so.
 * - `complaint`: the recipient reported it as spam; suppressed at once.
 * - `opted_out`: the carrier blocks this sender for its subscriber; our list blocks it too from now on.
 */
export type RecipientFinding = 'hard' | 'soft' | 'complaint' | 'opted_out';

export function recipientFinding(channel: Channel, code: string | undefined): RecipientFinding | undefined {
  if (code === undefined) return undefined;
  const named = BY_NAME[channel].get(code.trim().toLowerCase());
  if (named || channel !== 'email') return named;
  const enhanced = ENHANCED.exec(code)?.[1];
  return enhanced === undefined ? undefined : BY_ENHANCED.get(enhanced);
}

/** RFC 3463 codes, alone or after the reply they came with: `5.1.1`, `550 5.1.1`. A bare 550 says too little. */
const ENHANCED = /(?:^|[\s-])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/;

/**
 * Left out on purpose: 5.7.x is the receiver's opinion of the sender, 5.1.8 a bad sender's address, and 5.4.x
 * is about the route.
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
 * Names that carriers use, and Twilio's 21610. SMPP has no status for it: 0x400 and above are each operator's
 * own (SMPP 3.4, 5.1.3), so the SMPP provider translates its operator's codes into `opted_out`.
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
