import type { Channel } from './channel';
import type { SuppressionEvidence } from './message-history';

/** Steps of a recipient's explanation (api.md 19), in the order in which they are read out, oldest first. */
export const STEPS = [
  'frozen',
  'suppressed',
  'skipped',
  'rendered',
  'handed_over',
  'answered',
  'receipt',
  'retry_planned',
  'moved',
] as const;
export type StepWhat = (typeof STEPS)[number];

/** A time in words: `2026-06-01 10:15 UTC`. */
export const readOut = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const MESSAGE_WORDS: Record<Channel, string> = { email: 'email', sms: 'SMS', voice: 'call' };
export const messageWord = (channel: Channel): string => MESSAGE_WORDS[channel];

export const addressWord = (channel: Channel): string =>
  channel === 'email' ? 'email address' : 'phone number';

const SOURCES: Record<string, string> = {
  api: 'entered by a person or a program of the workspace',
  csv: 'imported from a file',
  keyword: 'by a keyword that the subscriber wrote',
  complaint: 'by a complaint of the recipient',
  bounce: 'by a bounce',
  unsubscribe: 'by the unsubscribe page',
  voice: 'by a key pressed in a call',
  provider: 'by the carrier',
};

/** Says which suppression entry it was, since when, and where it came from. */
export function suppressionSentence(channel: Channel, entry: SuppressionEvidence | undefined): string {
  const subject = `The ${addressWord(channel)}`;
  if (!entry) return `${subject} was on the suppression list; the entry is no longer known.`;
  const { reason, source, since, sender } = entry;
  const by = `${SOURCES[source] ?? `by ${source}`}${sender === '' ? '' : `, for the sender ${sender} alone`}`;
  const why = reason.trim() === '' ? '' : ` The reason given is: ${reason.trim().replace(/\.+$/, '')}.`;
  return `${subject} was on the suppression list since ${readOut(new Date(since))}, ${by}.${why}`;
}
