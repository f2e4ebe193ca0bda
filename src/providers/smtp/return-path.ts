import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Envelope senders of which every message has its own (VERP): `b+<message id>.<proof>@<domain>`. What comes
 * back to one is about that message, whatever it says inside; the proof keeps others from making up bounces
 * for messages whose ids they have seen.
 */
export interface ReturnPath {
  readonly domain: string;
  addressFor(messageId: string): string;
  /** The message that an address of ours is about; `undefined` for any other address. */
  messageOf(address: string): string | undefined;
}

/** 80 bits in letters that survive hosts which change their case. */
const PROOF_CHARS = 16;
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

export function createReturnPath(domain: string, secret: string): ReturnPath {
  const key = createHmac('sha256', secret).update('fanfare return path').digest();
  const own = `@${domain.toLowerCase()}`;

  function proofOf(messageId: string): string {
    const bytes = createHmac('sha256', key).update(messageId).digest();
    let proof = '';
    for (const byte of bytes.subarray(0, PROOF_CHARS)) proof += ALPHABET[byte & 31];
    return proof;
  }

  return {
    domain: domain.toLowerCase(),
    addressFor: (messageId) => `b+${messageId}.${proofOf(messageId)}${own}`,
    messageOf(address) {
      const lower = address.toLowerCase();
      if (!lower.endsWith(own)) return undefined;
      const [, messageId, proof] =
        /^b\+([\w-]{1,64})\.([0-9a-z]{16})$/.exec(lower.slice(0, -own.length)) ?? [];
      if (messageId === undefined || proof === undefined) return undefined;
      return timingSafeEqual(Buffer.from(proof), Buffer.from(proofOf(messageId))) ? messageId : undefined;
    },
  };
}
