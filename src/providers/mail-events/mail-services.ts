import type { MailVendor } from '../../domain/account';
import type { MailEvents } from './mail-events';
import { MAILGUN } from './mailgun';
import { POSTMARK } from './postmark';
import { SENDGRID } from './sendgrid';
import { SES } from './ses';

/** Every service whose events are understood. */
export const MAIL_SERVICES: Readonly<Record<MailVendor, MailEvents>> = {
  ses: SES,
  sendgrid: SENDGRID,
  mailgun: MAILGUN,
  postmark: POSTMARK,
};
