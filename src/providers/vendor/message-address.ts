import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Callback, type CallbackAccount, MESSAGE_PARAMETER } from './vendor';

/** The parameter of a callback's address that proves the one which names our message. */
const PROOF_PARAMETER = 'k';
const PROOF_CHARS = 22;

/**
 * The address of a vendor's callbacks about one message. The signatures of Telnyx and Vonage cover the body and not the
 * address: without a proof, a true callback could be sent again as if it were about another message.
 */
export const provenAddress = (address: string, messageId: string, secret: string | undefined): string =>
  `${address}&${PROOF_PARAMETER}=${proofOf(messageId, secret)}`;

/**
 * The message that the address names. One without its proof names none: it is then found by the vendor's own id, or not at
 * all.
 */
export function provenMessage(
  { query }: Callback,
  { secrets }: CallbackAccount,
  name: 'apiKey' | 'signatureSecret',
): string | undefined {
  const id = query.get(MESSAGE_PARAMETER);
  const given = Buffer.from(query.get(PROOF_PARAMETER) ?? '');
  if (id === null) return undefined;
  const isProven = secrets.some(({ [name]: secret }) => {
    // Without a secret anyone could make the proof.
    if (!secret) return false;
    const expected = Buffer.from(proofOf(id, secret));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
  return isProven ? id : undefined;
}

const proofOf = (messageId: string, secret = ''): string =>
  createHmac('sha256', secret).update(`message ${messageId}`).digest('base64url').slice(0, PROOF_CHARS);
