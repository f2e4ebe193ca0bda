import { createHash, timingSafeEqual } from 'node:crypto';
import type { Receipt } from '../provider';
import { reportedCode } from '../smtp/smtp-reply';
import { header } from '../vendor/vendor';
import {
  complaint,
  delivered,
  hardBounce,
  ID_NAME,
  jsonIn,
  type MailEvents,
  messageIdIn,
  objectOf,
  otherBounce,
  sparesAddress,
  textOf,
  timeIn,
  unsubscribed,
} from './mail-events';

/** Postmark's webhooks: one event, and nothing signed, so that name and password stand in the address that it calls. */
export const POSTMARK: MailEvents = {
  headers: (id) => [[`X-PM-Metadata-${ID_NAME}`, id]],
  async read(callback, { settings, secrets }) {
    const given = header(callback, 'authorization') ?? '';
    const pairs = secrets.flatMap(({ webhookUser = settings.webhookUser, webhookPassword }) =>
      webhookPassword && webhookUser ? [`${webhookUser}:${webhookPassword}`] : [],
    );
    if (!pairs.some((pair) => isSame(given, `Basic ${Buffer.from(pair).toString('base64')}`))) {
      return { kind: 'unauthenticated' };
    }
    const receipt = receiptOf(objectOf(jsonIn(callback.body)));
    return { kind: 'read', receipts: receipt ? [receipt] : [] };
  },
};

/** Compares in a time that depends on neither. */
function isSame(given: string, expected: string): boolean {
  const [one, other] = [given, expected].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(one as Buffer, other as Buffer);
}

function receiptOf(event: Record<string, unknown>): Receipt | undefined {
  const id = messageIdIn(objectOf(event.Metadata)[ID_NAME]);
  if (id === undefined) return undefined;
  switch (event.RecordType) {
    case 'Delivery':
      return delivered(id, timeIn(event.DeliveredAt));
    case 'Bounce':
      return bounce(id, textOf(event.Type), textOf(event.Details), timeIn(event.BouncedAt));
    case 'SpamComplaint':
      return complaint(id, timeIn(event.BouncedAt));
    case 'SubscriptionChange':
      return event.SuppressSending === true && event.SuppressionReason === 'ManualSuppression'
        ? unsubscribed(id, timeIn(event.ChangedAt))
        : undefined;
    default:
      return undefined;
  }
}

/** `Details` are the words of the receiving host, which may say that a hard bounce is about the sender or the mail. */
function bounce(id: string, type: string, words: string, at: string | undefined): Receipt | undefined {
  switch (type) {
    case 'HardBounce': {
      const status = reportedCode('', words);
      return sparesAddress(status, words)
        ? otherBounce(id, status, 'bounced', at)
        : hardBounce(id, status, at);
    }
    case 'BadEmailAddress':
      return hardBounce(id, undefined, at);
    case 'SpamComplaint':
      return complaint(id, at);
    case 'Unsubscribe':
      return unsubscribed(id, at);
    case 'AutoResponder':
    case 'AddressChange':
    case 'Subscribe':
    case 'OpenRelayTest':
    case 'ChallengeVerification':
      // The mail was taken, and a machine answered it.
      return undefined;
    default: {
      const name = type.replace(/([a-z])([A-Z])/g, '$1_$2').toLowerCase();
      return otherBounce(id, undefined, /^[a-z_]{1,40}$/.test(name) ? name : 'bounced', at);
    }
  }
}
