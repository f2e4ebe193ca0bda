import { hash } from 'node:crypto';
import type { Message } from '../../../contracts/send';

/** 96 bits are enough to tell two payloads of one uid apart, and each message keeps them. */
const HASH_CHARS = 16;

/** What the caller asked for, not what it resolved to: a newer template version is no new payload. */
export function payloadHash(message: Message): string {
  const params = Object.entries(message.params ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const payload = [
    message.channel,
    message.to,
    message.from,
    message['template-id'],
    message.version,
    message.subject,
    message.channel === 'email' ? message.body : undefined,
    params,
    message.sendAt,
    message.expiresAt,
    message.campaign,
    message.class,
    message.replyTo,
    // Not in its absence: what was accepted before there were options has to go on being the same.
    ...(message.voice ? [Object.entries(message.voice).sort(([a], [b]) => (a < b ? -1 : 1))] : []),
  ];
  return shortHash(payload);
}

export const shortHash = (value: unknown): string =>
  hash('sha256', JSON.stringify(value), 'base64url').slice(0, HASH_CHARS);

/** Messages from before decision 56 keep all 43 characters of the hash. */
export const isSamePayload = (stored: string, asked: string): boolean =>
  stored.slice(0, HASH_CHARS) === asked;
