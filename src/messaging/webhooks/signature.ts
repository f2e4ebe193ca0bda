import { createHmac } from 'node:crypto';
import type { IdGenerator } from '../access/id-generator';

/**
 * Standard Webhooks 1.0, symmetric: an HMAC over id, time and body, with the key in base64 after `whsec_`.
 * While secrets overlap there is a signature for each, and the receiver needs to know one of them.
 */
const PREFIX = 'whsec_';

/** 32 random bytes. The generator writes the URL-safe alphabet; the standard requires the ordinary one. */
export function newSigningSecret(generator: IdGenerator): string {
  const bytes = Buffer.from(generator.secret('').slice(1), 'base64url');
  return PREFIX + bytes.toString('base64');
}

export interface SigningSecret {
  secret: string;
  /** When it stops signing; null for the present one. */
  validTill: string | null;
}

/** `undefined` where no secret is valid. */
export function signatureHeaders(
  { id, body }: { id: string; body: string },
  secrets: readonly SigningSecret[],
  nowMs: number,
): Record<string, string> | undefined {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = secrets
    .filter(({ validTill }) => validTill === null || Date.parse(validTill) > nowMs)
    .map(({ secret }) => `v1,${sign(secret, `${id}.${timestamp}.${body}`)}`);
  if (signatures.length === 0) return undefined;
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}

const sign = (secret: string, content: string): string =>
  createHmac('sha256', Buffer.from(secret.slice(PREFIX.length), 'base64'))
    .update(content)
    .digest('base64');
