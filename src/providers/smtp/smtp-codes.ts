import type { SmtpReply } from './smtp-reply';
import type { Stage } from './smtp-session';

/**
 * What a refusal means for the message and for others.
 *
 * - `rejected`   this message will never be taken, because of its recipient or what it holds.
 * - `transient`  not now; tried again, and counted.
 * - `slow_down`  the recipient's host wants less of us for a while: its other messages wait as well.
 * - `relay_slow_down` the relay itself wants less of us: all messages wait for a moment.
 * - `sender`     it is about the sender's domain: its reputation, its policy. The recipient did nothing.
 * - `account`    the relay does not know us, or not any more, takes nothing, or has taken our mail of the day.
 */
export type RefusalClass = 'rejected' | 'transient' | 'slow_down' | 'relay_slow_down' | 'sender' | 'account';

export interface Refusal {
  class: RefusalClass;
  /** The enhanced code if there is one, as it says more (RFC 3463), else the plain one. */
  code: string;
  /** Of an `account`: it may be about this message alone, as long as others are taken. */
  orRecipient?: true;
}

export function classify(reply: SmtpReply, stage: Stage): Refusal {
  const { code, enhanced } = reply;
  if (!code || code < 400) return { class: 'transient', code: String(code) };
  if (reply.refusesAccount) return { class: 'account', code: reply.refusesAccount };
  if (LOGIN_REPLIES.has(code)) return { class: 'account', code: enhanced ?? String(code) };
  const isOfLogin = LOGIN.has(enhanced ?? '');
  const refusesSession = stage === 'mail' && (SESSION_REPLIES.has(code) || SESSION.has(enhanced ?? ''));
  if (isOfLogin || refusesSession) {
    const isOurs = isOfLogin && stage === 'mail';
    return { class: 'account', code: enhanced ?? String(code), ...(!isOurs && { orRecipient: true }) };
  }
  return {
    class: code < 500 ? temporary(reply, stage) : permanent(reply, stage),
    code: codeOf(reply, stage),
  };
}

/** The commands that need a log-in are refused with these (RFC 4954, 6 and RFC 5248, 2.4). */
const LOGIN_REPLIES = new Set([523, 524, 525, 530, 534, 535, 538]);
/**
 * The same as enhanced codes (IANA's registry). After the sender's turn they may be about the recipient: Exchange says 5.7.12
 * where one is set to take nothing from outside of its organization.
 */
const LOGIN = new Set(['5.7.8', '5.7.9', '5.7.10', '5.7.11', '5.7.12', '5.7.13', '5.7.14']);
/** At the sender's turn these are about the relay: commands out of order, as where it wants a log-in first; it takes no mail (RFC 7504). */
const SESSION_REPLIES = new Set([503, 521]);
/** It takes no mail, or is set up wrong (RFC 3463, 3.4). */
const SESSION = new Set(['5.3.2', '5.3.5']);
/** A full mailbox may be emptied, whatever class its host gives it. */
const MAILBOX_FULL = '5.2.2';

function temporary({ code, enhanced, text }: SmtpReply, stage: Stage): RefusalClass {
  // Amazon SES, after a message.
  if (/\bmaximum sending rate exceeded\b/i.test(text)) return 'relay_slow_down';
  if (code !== 421 && !enhanced?.startsWith('4.7.')) return 'transient';
  // Before a relay knows the recipient, its answer is about itself.
  return stage === 'mail' ? 'relay_slow_down' : 'slow_down';
}

function permanent({ enhanced, text }: SmtpReply, stage: Stage): RefusalClass {
  if (enhanced === MAILBOX_FULL) return 'transient';
  if (enhanced?.startsWith('5.7.') || enhanced === '5.1.7' || enhanced === '5.1.8') return 'sender';
  // At the sender there is no recipient yet whose address it could be about.
  const isAddress = enhanced === undefined || enhanced.startsWith('5.1.');
  const isSender = isAboutSender(text) || (stage === 'mail' && enhanced !== undefined);
  return isAddress && isSender ? 'sender' : 'rejected';
}

/**
 * Hosts refuse a sender's address with the codes of a recipient's, and Postfix and Exim only at the recipient's turn: `550 5.1.0
 * Sender address rejected: User unknown`. The address of a recipient who did nothing must not be blocked for it.
 */
export const isAboutSender = (text: string): boolean =>
  /\bsender\b(?:[ -]\w+){0,3} (?:rejected|refused|denied|failed|unknown|invalid)\b/i.test(text) ||
  UNVERIFIED.test(text);

/** A sender that is not the account's own, at SendGrid and Amazon SES. */
const UNVERIFIED = /\bdoes not match a verified sender\b|\bnot verified\. the following identities failed\b/i;

const NOBODY =
  /\b(?:user|mailbox|recipient|account)\b.{0,20}\b(?:unknown|not found|does(?: no|n')t exist|unavailable)|(?:unknown|no such|invalid) (?:user|mailbox|recipient|account)/i;

/** Old hosts say in words alone that there is no such mailbox, and then at the recipient, never later. */
function codeOf({ code, enhanced, text }: SmtpReply, stage: Stage): string {
  if (enhanced !== undefined) return enhanced;
  const isRecipient = stage === 'rcpt' && !isAboutSender(text);
  const isNobody = isRecipient && (code === 550 || code === 551 || code === 553) && NOBODY.test(text);
  return isNobody ? 'unknown_recipient' : String(code);
}

const MINUTE = 60_000;
/** Greylisting lets pass after five minutes or so, an overloaded host after an hour; at the eighth attempt a
 * message has been tried for some eight hours. */
const GAPS_MS = [1, 5, 15, 30, 60, 120, 240].map((minutes) => minutes * MINUTE);

/** How long to wait after the given attempt, the first being 1. */
export function retryGapMs(attempt: number): number {
  return GAPS_MS[Math.min(Math.max(attempt, 1), GAPS_MS.length) - 1] ?? MINUTE;
}
