import { parseSmtpRelays } from '../../../src/domain/smtp-relays';
import { createLog } from '../../../src/log';
import type { HandOver } from '../../../src/providers/provider';
import {
  openSmtpProvider,
  type SmtpProvider,
  type SmtpProviderOptions,
} from '../../../src/providers/smtp/smtp-provider';

/** A provider on these relays, patient for a second only. */
export function openSmtp(urls: string, options: Partial<SmtpProviderOptions> = {}): SmtpProvider {
  const relays = parseSmtpRelays(urls);
  if (typeof relays === 'string') throw new Error(relays);
  return openSmtpProvider({
    relays,
    log: createLog('silent'),
    timeouts: { connectMs: 1_000, answerMs: 1_000 },
    ...options,
  });
}

let made = 0;

export function mail(given: Partial<HandOver> = {}): HandOver {
  const id = given.id ?? `msg_${process.pid}_${made++}`;
  return {
    id,
    uid: id,
    channel: 'email',
    to: 'ann@example.com',
    from: 'news@example.org',
    subject: 'Hello',
    html: '<p>Hello</p>',
    text: 'Hello',
    attempt: 1,
    ...given,
  };
}
