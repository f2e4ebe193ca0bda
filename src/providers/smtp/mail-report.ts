import PostalMime from 'postal-mime';
import { LIMITS } from '../../domain/limits';
import type { ReceiptType } from '../../domain/message';
import { isAboutSender } from './smtp-codes';
import { reportedCode } from './smtp-reply';

/** What an inbound mail says, at whatever address it arrives. */
export type MailReport = { isAutomatic: boolean; subject: string } & (
  | {
      kind: 'delivery';
      type: Extract<ReceiptType, 'delivered' | 'undelivered'>;
      code: string | undefined;
      data: Record<string, unknown> | undefined;
    }
  | { kind: 'complaint'; returnPath: string | undefined }
  /** Anything else: a person's answer, an absence note, a report that something is merely late. */
  | { kind: 'other' }
);

/**
 * Reads a delivery report (RFC 3464) or a feedback report (RFC 5965). A mail that is no such report is
 * `other`.
 */
export async function readReport(raw: Buffer): Promise<MailReport> {
  let mail: Awaited<ReturnType<typeof PostalMime.parse>>;
  try {
    mail = await PostalMime.parse(raw, { forceRfc822Attachments: true, maxNestingDepth: 10 });
  } catch {
    return { kind: 'other', isAutomatic: true, subject: '' };
  }
  const header = (name: string) => mail.headers.find(({ key }) => key === name)?.value;
  const submitted = header('auto-submitted')?.trim().toLowerCase();
  const isAutomatic =
    (submitted !== undefined && !submitted.startsWith('no')) ||
    header('x-autoreply') !== undefined ||
    /^(?:bulk|junk|auto_reply)$/i.test(header('precedence')?.trim() ?? '');
  const about = { isAutomatic, subject: mail.subject?.trim() ?? '' };
  const part = (type: string) => {
    const found = mail.attachments.find(({ mimeType }) => mimeType.toLowerCase() === type);
    return found && textOf(found.content).slice(0, LIMITS.smtpReportChars);
  };
  const status = part('message/delivery-status') ?? part('message/global-delivery-status');
  if (status !== undefined) return { ...about, ...deliveryOf(status) };
  const feedback = part('message/feedback-report');
  if (feedback === undefined) return { ...about, kind: 'other' };
  const original = part('message/rfc822') ?? part('text/rfc822-headers') ?? part('message/rfc822-headers');
  return { ...about, ...complaintOf(feedback, original) };
}

function deliveryOf(status: string) {
  // The first group is about the message, each other about a recipient; ours have one.
  const groups = status.split(/\r?\n[ \t]*\r?\n/).map(fieldsOf);
  const about = groups.find((fields) => fields.has('action'));
  const action = about?.get('action')?.toLowerCase();
  if (action !== 'failed' && action !== 'delivered') return { kind: 'other' as const };
  const reply = /^smtp;\s*([45]\d\d)\b/i.exec(about?.get('diagnostic-code') ?? '')?.[1];
  const data = reply === undefined ? undefined : { reply };
  return {
    kind: 'delivery' as const,
    type: action === 'failed' ? ('undelivered' as const) : ('delivered' as const),
    code: action === 'delivered' ? undefined : codeOf(about, reply),
    data,
  };
}

function codeOf(about: Map<string, string> | undefined, reply: string | undefined): string | undefined {
  const words = about?.get('diagnostic-code') ?? '';
  const field = /[245]\.\d{1,3}\.\d{1,3}/.exec(about?.get('status') ?? '')?.[0] ?? '';
  const found = reportedCode(field, /^smtp;/i.test(words) ? words : '') ?? reply;
  // Of a refused sender it would block the recipient's address.
  return found?.startsWith('5.1.') && isAboutSender(words) ? reply : found;
}

/** Kinds of feedback that are no complaint: praise, and what a host reports by itself of a signature that failed (RFC 6591). */
const NO_COMPLAINT: ReadonlySet<string | undefined> = new Set(['not-spam', 'auth-failure']);

function complaintOf(feedback: string, original: string | undefined) {
  const fields = fieldsOf(feedback);
  if (NO_COMPLAINT.has(fields.get('feedback-type')?.toLowerCase())) return { kind: 'other' as const };
  const returned = fields.get('original-mail-from') ?? fieldsOf(original ?? '').get('return-path');
  return { kind: 'complaint' as const, returnPath: /^[^<]*<([^<>]*)>/.exec(returned ?? '')?.[1] ?? returned };
}

/** Fields up to the first empty line; of two with one name, the first. */
function fieldsOf(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  const head = text.replace(/^\s+/, '').split(/\r?\n\r?\n/, 1)[0] ?? '';
  for (const line of head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    if (colon > 0 && !fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

function textOf(content: ArrayBuffer | Uint8Array | string): string {
  return typeof content === 'string' ? content : new TextDecoder().decode(content);
}
