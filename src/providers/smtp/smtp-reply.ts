/** A relay's answer, read once where it enters. */
export interface SmtpReply {
  /** 200 to 599. */
  code: number;
  /** RFC 3463, as `5.1.1`. */
  enhanced: string | undefined;
  /** Without addresses, short enough to be kept. */
  text: string;
  /** Why the relay takes nothing of this account, if its words say so: a name in place of a code, which each relay chooses otherwise. */
  refusesAccount: 'daily_quota' | 'sending_paused' | undefined;
}

const TEXT_CHARS = 200;
const LOOKED_AT_CHARS = 2_000;
/** With what some hosts put around it: `550 #5.1.0 Address rejected.`, `554 5.7.1: Blocked`. */
const ENHANCED = /^#?([245]\.\d{1,3}\.\d{1,3})(?![\d.])[\s:]*/;
const ADDRESS = /<?[^\s<>"'(),;:]+@[^\s<>"'(),;]+>?/g;

export function parseReply(response: string): SmtpReply | undefined {
  const code = Number(/^\d{3}/.exec(response)?.[0]);
  if (!(code >= 200 && code < 600)) return undefined;
  // Every line of a long answer begins with the codes.
  const lines = response.split(/\r?\n/).map((line) => line.replace(/^\d{3}[ -]?/, ''));
  const enhanced = ENHANCED.exec(lines[0] ?? '')?.[1];
  const text = lines.map((line) => line.replace(ENHANCED, '').trim()).join(' ');
  const kept = withoutAddresses(beginningOf(text)).slice(0, TEXT_CHARS);
  return { code, enhanced, text: kept, refusesAccount: accountRefusal(enhanced, kept) };
}

/**
 * The enhanced code of a report: that of its field, unless it is missing or says no more than that it failed. Many hosts give
 * 5.0.0 there, and the code itself stands in the words of the next host's answer.
 */
export function reportedCode(field: string, words: string): string | undefined {
  const code = field === '' ? undefined : field;
  return code === undefined || VAGUE.test(code) ? (IN_WORDS.exec(words)?.[1] ?? code) : code;
}

const VAGUE = /^[45]\.0\.0$/;
/** No part of an address or a version. */
const IN_WORDS = /(?<![\d.])([45]\.\d{1,3}\.\d{1,3})(?!\.?\d)/;

/** Only words say it: with a quota of the day Amazon SES gives 454, SendGrid 451, Google 550 5.4.5, and SES 554 when it has paused us. */
function accountRefusal(enhanced: string | undefined, text: string): SmtpReply['refusesAccount'] {
  if (PAUSED.test(text)) return 'sending_paused';
  // What x.2.x says is about the recipient's mailbox.
  return !/^[45]\.2\./.test(enhanced ?? '') && DAILY_QUOTA.test(text) ? 'daily_quota' : undefined;
}

const PAUSED = /\bsending (?:paused|suspended) for this account\b/i;
const DAILY_QUOTA =
  /\bdaily\b.{0,40}\b(?:quota|limit)\b.{0,20}\b(?:exceeded|reached)\b|\bmaximum credits exceeded\b/i;

/** Looking for addresses in a long line without one takes the square of its length; and none is cut in two. */
function beginningOf(text: string): string {
  return text.length <= LOOKED_AT_CHARS ? text : text.slice(0, LOOKED_AT_CHARS).replace(/\S*$/, '');
}

/** Relays repeat the recipient's address, which is not to be kept with the reason. */
function withoutAddresses(text: string): string {
  return text.replace(ADDRESS, '<address>');
}
