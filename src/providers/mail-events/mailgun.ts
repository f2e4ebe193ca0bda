import { createHmac, timingSafeEqual } from 'node:crypto';
import { recipientFinding } from '../../domain/delivery-codes';
import type { Receipt } from '../provider';
import { isAboutSender } from '../smtp/smtp-codes';
import { reportedCode } from '../smtp/smtp-reply';
import {
  complaint,
  delivered,
  hardBounce,
  ID_NAME,
  isFresh,
  jsonIn,
  type MailEvents,
  messageIdIn,
  objectOf,
  otherBounce,
  REFUSED,
  textOf,
  timeIn,
  unsubscribed,
} from './mail-events';

/**
 * Mailgun's webhooks: one event, beside an HMAC over a time and a token. The event itself is not covered, so that a token
 * counts for the body with which it came first.
 */
export const MAILGUN: MailEvents = {
  headers: (id) => [['X-Mailgun-Variables', JSON.stringify({ [ID_NAME]: id })]],
  async read({ body }, { id: accountId, secrets }, { now, isFirstUse }) {
    const given = objectOf(jsonIn(body));
    const proof = objectOf(given.signature);
    const [timestamp, token, signature] = [
      textOf(proof.timestamp),
      textOf(proof.token),
      textOf(proof.signature),
    ];
    const keys = secrets.flatMap(({ signingKey }) => (signingKey ? [signingKey] : []));
    if (!isFresh(Number(timestamp || Number.NaN) * 1_000, now())) return REFUSED;
    if (token === '' || !keys.some((key) => isSigned(key, timestamp + token, signature))) return REFUSED;
    if (!(await isFirstUse(accountId, token, body))) return REFUSED;
    const receipt = receiptOf(objectOf(given['event-data']));
    return { kind: 'read', receipts: receipt ? [receipt] : [] };
  },
};

function isSigned(key: string, data: string, signature: string): boolean {
  const expected = createHmac('sha256', key).update(data).digest();
  const given = Buffer.from(signature, 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function receiptOf(event: Record<string, unknown>): Receipt | undefined {
  const id = messageIdIn(objectOf(event['user-variables'])[ID_NAME]);
  if (id === undefined) return undefined;
  const at = timeIn(Number(event.timestamp) * 1_000);
  switch (event.event) {
    case 'delivered':
      return delivered(id, at);
    case 'failed':
      // After a temporary failure Mailgun tries again.
      return event.severity === 'permanent' ? failed(id, event, at) : undefined;
    case 'complained':
      return complaint(id, at);
    case 'unsubscribed':
      return unsubscribed(id, at);
    default:
      return undefined;
  }
}

/** The address is to blame for a bounce with a code that says so, or with none and a bare 550. */
function failed(id: string, event: Record<string, unknown>, at: string | undefined): Receipt {
  const reason = textOf(event.reason);
  if (reason === 'suppress-complaint') return { id, type: 'undelivered', code: 'complaint', at };
  if (reason === 'suppress-unsubscribe') return { id, type: 'undelivered', code: 'unsubscribed', at };
  if (reason === 'suppress-bounce') return hardBounce(id, undefined, at);
  const status = objectOf(event['delivery-status']);
  const words = textOf(status.message);
  const enhanced = reportedCode(textOf(status['enhanced-code']), words);
  const isHard =
    enhanced === undefined
      ? reason === 'bounce' && BY_ITSELF.has(Number(status.code))
      : recipientFinding('email', enhanced) === 'hard';
  return isHard && !isAboutSender(words)
    ? hardBounce(id, enhanced, at)
    : otherBounce(id, enhanced, 'bounced', at);
}

/**
 * SMTP codes of a mailbox that does not exist (RFC 5321), and Mailgun's own code for an address that bounced
 * before.
 */
const BY_ITSELF: ReadonlySet<number> = new Set([550, 551, 553, 605]);
