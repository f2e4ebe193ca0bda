import { createPublicKey, verify } from 'node:crypto';
import type { Receipt } from '../provider';
import { reportedCode } from '../smtp/smtp-reply';
import { header } from '../vendor/vendor';
import {
  complaint,
  delivered,
  hardBounce,
  ID_NAME,
  isFresh,
  jsonIn,
  listOf,
  type MailEvents,
  messageIdIn,
  objectOf,
  otherBounce,
  REFUSED,
  sparesAddress,
  textOf,
  timeIn,
  unsubscribed,
} from './mail-events';

/** SendGrid's Event Webhook: a batch as a JSON array, signed with ECDSA over timestamp and body. */
export const SENDGRID: MailEvents = {
  headers: (id) => [['X-SMTPAPI', JSON.stringify({ unique_args: { [ID_NAME]: id } })]],
  async read(callback, { settings, secrets }, { now }) {
    const signature = header(callback, 'x-twilio-email-event-webhook-signature') ?? '';
    const timestamp = header(callback, 'x-twilio-email-event-webhook-timestamp') ?? '';
    const data = Buffer.concat([Buffer.from(timestamp), callback.body]);
    if (!isFresh(Number(timestamp || Number.NaN) * 1_000, now())) return REFUSED;
    const keys = secrets.map(({ publicKey }) => publicKey ?? settings.publicKey ?? '');
    if (!keys.some((key) => isSigned(key, data, signature))) return REFUSED;
    const events = jsonIn(callback.body);
    return { kind: 'read', receipts: listOf(events).flatMap((one) => receiptOf(objectOf(one)) ?? []) };
  },
};

function isSigned(publicKey: string, data: Buffer, signature: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return verify('sha256', data, key, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}

function receiptOf(event: Record<string, unknown>): Receipt | undefined {
  const id = messageIdIn(event[ID_NAME]);
  if (id === undefined) return undefined;
  const at = timeIn(Number(event.timestamp) * 1_000);
  const status = reportedCode(textOf(event.status), textOf(event.reason));
  switch (event.event) {
    case 'delivered':
      return delivered(id, at);
    case 'bounce':
      return isAboutAddress(event, status)
        ? hardBounce(id, status, at)
        : otherBounce(id, status, 'bounced', at);
    case 'dropped':
      return dropped(id, textOf(event.reason), at);
    case 'spamreport':
      return complaint(id, at);
    case 'unsubscribe':
    case 'group_unsubscribe':
      return unsubscribed(id, at);
    default:
      // Deferred mail is still on its way; opens and clicks are nothing that is followed.
      return undefined;
  }
}

/** `blocked` is a refusal of this mail; a classification says why, where there is one. */
function isAboutAddress(event: Record<string, unknown>, status: string | undefined): boolean {
  const reason = textOf(event.bounce_classification).toLowerCase();
  if (event.type === 'blocked' || status?.startsWith('4')) return false;
  if (sparesAddress(status, textOf(event.reason))) return false;
  return reason === '' || ABOUT_ADDRESS.has(reason);
}

const ABOUT_ADDRESS: ReadonlySet<string> = new Set([
  'invalid address',
  'mailbox unavailable',
  'unclassified',
]);

/** SendGrid did not try, because of what it knows of the address. */
function dropped(id: string, reason: string, at: string | undefined): Receipt {
  const known = reason.toLowerCase();
  // `Invalid SMTPAPI header` is about the mail; the word alone is about the address.
  if (known.startsWith('bounced address') || known === 'invalid') return hardBounce(id, undefined, at);
  const code = known.startsWith('spam reporting')
    ? 'complaint'
    : known.startsWith('unsubscribed')
      ? 'unsubscribed'
      : 'dropped';
  return { id, type: 'undelivered', code, at };
}
