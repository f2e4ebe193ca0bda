import { LIMITS } from '../domain/limits';
import type { OutgoingMessage } from './gateway';

/** Only a service of our kind (`extended`) is sent more than the specification names. */
export function toBody(message: OutgoingMessage, extended: boolean): Record<string, unknown> {
  const body: Record<string, unknown> = {
    channel: message.channel,
    uid: message.uid,
    to: message.to,
    from: message.from,
    'template-id': message.templateId,
    params: message.params,
  };
  if (message.body !== undefined) body.body = message.body;
  // Undefined members are not written.
  if (extended) {
    const { version, campaign, class: kind, subject, replyTo, expiresAt, voice } = message;
    Object.assign(body, { version, campaign, class: kind || undefined, subject, replyTo, expiresAt, voice });
  }
  return body;
}

/** Splits message bodies into groups that fit one bulk request, by count and by bytes. */
export function* inBulks(bodies: readonly string[]): Generator<string[]> {
  let group: string[] = [];
  let bytes = 0;
  for (const body of bodies) {
    const size = Buffer.byteLength(body) + 1;
    if (group.length && (group.length === LIMITS.bulkMessages || bytes + size > BULK_BYTES)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(body);
    bytes += size;
  }
  if (group.length) yield group;
}

/** Leaves room for the envelope within the service's limit. */
const BULK_BYTES = LIMITS.bulkBodyBytes - 1024;
