import type { MailVendor } from '../../domain/account';
import type { Receipt } from '../provider';
import { reportedCode } from '../smtp/smtp-reply';
import {
  complaint,
  delivered,
  hardBounce,
  ID_NAME,
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
} from './mail-events';
import { MAILGUN } from './mailgun';
import { POSTMARK } from './postmark';
import { SENDGRID } from './sendgrid';
import { confirmSubscription, readSns } from './sns';

/** Amazon SES, whose events come by a topic of SNS. */
const SES: MailEvents = {
  headers: (id) => [
    ['X-SES-MESSAGE-TAGS', `${ID_NAME}=${id}`],
    // Notifications of an identity have no tags, and the headers only if the identity is configured so.
    [OWN_HEADER, id],
  ],
  async read({ body }, { settings }, tools) {
    const message = await readSns(body, settings.topicArn ?? '', tools);
    if (!message) return REFUSED;
    if (message.kind === 'confirmation') {
      await confirmSubscription(message.url, tools);
      return { kind: 'read', receipts: [] };
    }
    const receipt = message.text === undefined ? undefined : receiptOf(objectOf(jsonIn(message.text)));
    return { kind: 'read', receipts: receipt ? [receipt] : [] };
  },
};

/** Every service whose events are understood. */
export const MAIL_SERVICES: Readonly<Record<MailVendor, MailEvents>> = {
  ses: SES,
  sendgrid: SENDGRID,
  mailgun: MAILGUN,
  postmark: POSTMARK,
};

const OWN_HEADER = 'X-Fanfare-Message';

function receiptOf(event: Record<string, unknown>): Receipt | undefined {
  const mail = objectOf(event.mail);
  const id = messageIdIn(listOf(objectOf(mail.tags)[ID_NAME])[0]) ?? messageIdIn(ownHeaderOf(mail));
  if (id === undefined) return undefined;
  // `eventType` is set by a configuration set, `notificationType` by the notifications of an identity.
  switch (event.eventType ?? event.notificationType) {
    case 'Delivery':
      return delivered(id, timeIn(objectOf(event.delivery).timestamp));
    case 'Bounce':
      return bounce(id, objectOf(event.bounce));
    case 'Complaint': {
      const told = objectOf(event.complaint);
      // A person took it back.
      if (told.complaintFeedbackType === 'not-spam') return undefined;
      const at = timeIn(told.timestamp);
      // One of before: SES took this mail and did not try to send it.
      if (told.complaintSubType === 'OnAccountSuppressionList')
        return { id, type: 'undelivered', code: 'complaint', at };
      return complaint(id, at);
    }
    case 'Reject':
      return { id, type: 'rejected', code: 'rejected_by_ses', at: timeIn(mail.timestamp) };
    default:
      return undefined;
  }
}

const ownHeaderOf = (mail: Record<string, unknown>): unknown =>
  listOf(mail.headers)
    .map(objectOf)
    .find(({ name }) => textOf(name).toLowerCase() === OWN_HEADER.toLowerCase())?.value;

/** Only a permanent bounce is about the address, and not even each of those. */
function bounce(id: string, told: Record<string, unknown>): Receipt {
  const at = timeIn(told.timestamp);
  const recipient = objectOf(listOf(told.bouncedRecipients)[0]);
  const words = textOf(recipient.diagnosticCode);
  const status = reportedCode(textOf(recipient.status), words);
  if (told.bounceType === 'Permanent') {
    return sparesAddress(status, words) ? otherBounce(id, status, 'bounced', at) : hardBounce(id, status, at);
  }
  if (told.bounceSubType === 'MailboxFull') return otherBounce(id, undefined, 'mailbox_full', at);
  return otherBounce(id, status, told.bounceType === 'Transient' ? 'transient_bounce' : 'undetermined', at);
}
